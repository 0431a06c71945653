"""The table of the configuration about anchors.

The string below a field is the text of docs/configuration.md (`config.reference`).
"""

from typing import Annotated

from pydantic import Field

from config.engines import ConfigTable


class AnchorsConfig(ConfigTable):
    """Anchors: fixed pairs that a schedule asks again in every period (docs/anchors.md).

    Without this table, there are none. Imported and recorded models are not asked.
    """

    n_pairs: Annotated[int, Field(ge=1)] = 100
    """Number of pairs, in proportion to the sizes of the relations, but at least one pair of each. With
    method `pretexeval`, each pair costs 16 prompts per model and period."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed with which the anchors are drawn. The default is the seed of `[edition]`."""

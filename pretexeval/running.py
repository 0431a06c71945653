"""Run a configuration in this process: a script or a notebook."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.file import Config, load_config
from pretexeval.reading import convert_table, open_warehouse
from primitives.errors import InputError
from primitives.http_client import bypass_proxies
from storage.layout import edition_folder

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class RunResult:
    """What a run made, and where it is."""

    edition_id: str
    root: Path
    """The data root, for `open_warehouse`, `load_edition` and `load_predictions`."""
    edition: Path
    """The folder of the edition."""
    warehouse: Path
    page: Path
    """The page of the edition."""
    failures: dict[str, str]
    """Model, with the setting of questions in brackets -> why its evaluation failed. The others succeeded."""
    left_out: str | None
    """What else under the root was not published, because files contradict their records."""

    @property
    def leaderboard(self) -> "pl.DataFrame":
        """One row per model, method, scoring policy and repeat of this edition, by rank.

        The columns are those of the view `leaderboard` (docs/warehouse.md).
        """
        sql = "from leaderboard where edition_id = ? order by method, scoring_policy, repeat, rank"
        with open_warehouse(self.root) as connection:
            return convert_table(connection.sql(sql, params=[self.edition_id]).to_arrow_table())


def ignore(_: str) -> None:
    """Report nothing."""


def run(
    config: str | Path | Config,
    report_step: Callable[[str], None] = ignore,
    *,
    models: Sequence[str] | None = None,
    limit: int | None = None,
) -> RunResult:
    """Build the edition, evaluate every model and publish, as `pretexeval run` does.

    Nothing is asked or built twice, so a second call returns at once. Without the variable PREFECT_API_URL,
    a Prefect server runs for as long as this process. vLLM starts processes of its own that import the main
    module again, so a script calls this function below `if __name__ == "__main__":`.

    Args:
        config: a TOML file, or its content as an object.
        report_step: receives a line about each step, such as `print`.
        models: the names of the models to evaluate, as `--model`; None: all of the configuration.
        limit: how many pairs of each relation to ask about, as `--limit`; None: all of them, or
            pairs_per_relation of the model.

    Raises:
        InputError: the configuration is not valid, the edition cannot be built, no model can be used or has
            such a name, a model was asked about more pairs than the limit, or publishing fails. A model that
            fails is in `failures` of the result.
    """
    if "prefect" in sys.modules and "PREFECT_API_URL" not in os.environ:
        raise InputError(
            "Prefect was imported before the first run, and reads its settings only then: call "
            "pretexeval.run before anything imports Prefect, or set PREFECT_API_URL to a server's address"
        )
    from cli.in_process import run_all
    from cli.selection import select_some

    for warning in bypass_proxies():
        warnings.warn(warning, stacklevel=2)
    config_file = None if isinstance(config, Config) else Path(config)
    checked = config if isinstance(config, Config) else load_config(Path(config))
    checked = select_some(checked, models, limit, report_step)
    report = run_all(checked, report_step, config_file)
    root = checked.storage.root
    warehouse, page = report.paths
    return RunResult(
        report.edition_id,
        root,
        root / edition_folder(report.edition_id),
        warehouse,
        page,
        report.failures,
        report.left_out,
    )

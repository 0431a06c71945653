"""Read in which style a model was asked, which only its requests under the root say."""

from pathlib import Path

import polars as pl

from primitives.errors import InputError
from schemas.stages import REQUESTS
from storage.layout import evaluation_folder


def read_prompt_styles(root: Path, edition_id: str, model_id: str) -> tuple[str, ...]:
    """Return the styles of the model's prompts; empty where its requests are not in the data folder.

    Raises:
        InputError: the requests cannot be read.
    """
    folder = root / evaluation_folder(edition_id, model_id) / REQUESTS.name
    files = sorted(folder.glob("*.parquet"))
    if not files:
        return ()
    try:
        found = pl.scan_parquet(files).select("prompt_style").unique().collect().to_series()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"{folder}: the requests cannot be read ({str(error).splitlines()[0]}); `pretexeval run CONFIG` "
            "writes them again"
        ) from error
    return tuple(sorted(style for style in found if style))

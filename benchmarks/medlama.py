"""All of MedLAMA, from its file to validated samples: time per stage, and memory."""

import os
import re
from pathlib import Path

from benchmarks.processes import Finished, run_python
from primitives.errors import InputError
from report.console import align

CONFIG = Path("configs/medlama.toml")
VARIABLE = "PRETEXEVAL_REFERENCE_DATA"
# What tasks.edition.cached_stage tells about each stage.
STAGE_LINE = re.compile(r"(\w+): (\d+) of \d+ relations made in ([\d.]+) s, validated in ([\d.]+) s")


def measure_medlama(folder: Path) -> str:
    """A line per stage, and the process as a whole.

    Raises:
        InputError: if a stage was reused, or told nothing.
    """
    if not os.environ.get(VARIABLE):
        return f"MedLAMA: not measured, since {VARIABLE} does not name the reference data"
    config = folder / "medlama.toml"
    text = CONFIG.read_text(encoding="utf-8").split("[[models]]")[0]
    config.write_text(f'{text}\n[storage]\nroot = "{folder / "medlama"}"\n', encoding="utf-8")
    finished = run_python(["-m", "cli", "build", str(config)], folder, PREFECT_LOGGING_LEVEL="INFO")
    return _describe(finished)


def _describe(finished: Finished) -> str:
    found = STAGE_LINE.findall(finished.stderr)
    if len(found) != 4 or any(n_made == "0" for _, n_made, _, _ in found):
        raise InputError(f"four stages were to be made; found: {found}")
    rows = [[name, f"{float(made):.1f}", f"{float(valid):.1f}"] for name, _, made, valid in found]
    made_s, valid_s = (sum(float(row[i]) for row in found) for i in (2, 3))
    rows.append(["all stages", f"{made_s:.1f}", f"{valid_s:.1f}"])
    return "\n".join(
        [
            "MedLAMA: 17 relations, 1,000 heads each at most",
            align(["stage", "made (s)", "validated (s)"], rows),
            f"stage time {made_s + valid_s:.1f} s, whole process {finished.wall_s:.1f} s, "
            f"peak memory {finished.peak_bytes / 1e9:.2f} GB",
        ]
    )

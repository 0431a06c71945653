"""Build all of MedLAMA, from its file to validated samples and questions: time per stage, and memory."""

import os
import re
from pathlib import Path

from benchmarks.processes import FinishedProcess, run_python
from primitives.errors import InputError
from report.console import align
from schemas.stages import EDITION_STAGES

CONFIG = Path("configs/medlama.toml")
VARIABLE = "PRETEXEVAL_REFERENCE_DATA"
# The log line of flows.support.stage_task about each stage.
# All stages but the attempts of a language model.
N_STAGES = len(EDITION_STAGES) - 1
STAGE_LINE = re.compile(r"(\w+): (\d+) of \d+ relations made in ([\d.]+) s, validated in ([\d.]+) s")


def measure_medlama(folder: Path) -> str:
    """Measure the build, and return a table of its stages with the totals of the process.

    Raises:
        InputError: if a stage was reused, or its log line is missing.
    """
    if not os.environ.get(VARIABLE):
        return f"MedLAMA: not measured, because {VARIABLE} does not name the reference data"
    config = folder / "medlama.toml"
    text = CONFIG.read_text(encoding="utf-8").split("[[models]]")[0]
    text += f'\n[questions]\nsettings = ["answer_only"]\n\n[storage]\nroot = "{folder / "medlama"}"\n'
    config.write_text(text, encoding="utf-8")
    finished = run_python(["-m", "cli", "build", str(config)], folder, PREFECT_LOGGING_LEVEL="INFO")
    return render_build("MedLAMA: 17 relations, at most 1,000 heads each", finished, N_STAGES)


def render_build(title: str, finished: FinishedProcess, n_stages: int) -> str:
    """Return a table of the stages of a build with the totals of its process.

    Raises:
        InputError: if a stage was reused, or its log line is missing.
    """
    found = STAGE_LINE.findall(finished.stderr)
    if len(found) != n_stages or any(n_made == "0" for _, n_made, _, _ in found):
        raise InputError(f"the log must show {n_stages} newly built stages; found: {found}")
    rows = [[name, f"{float(made):.1f}", f"{float(valid):.1f}"] for name, _, made, valid in found]
    made_s, valid_s = (sum(float(row[i]) for row in found) for i in (2, 3))
    rows.append(["all stages", f"{made_s:.1f}", f"{valid_s:.1f}"])
    return "\n".join(
        [
            title,
            align(["stage", "building (s)", "validation (s)"], rows),
            f"stage time {made_s + valid_s:.1f} s, whole process {finished.wall_s:.1f} s, "
            f"peak memory {finished.peak_bytes / 1e9:.2f} GB",
        ]
    )

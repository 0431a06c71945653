"""The judge of a configuration, and its calibration with labelled rewordings."""

import tomllib
from dataclasses import asdict
from pathlib import Path

import polars as pl

from pretexeval.config.file import Config
from pretexeval.gate import GATE_VERSION
from pretexeval.gate.check import check_rewordings
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.primitives.toml_files import render_toml
from pretexeval.storage.files import write_bytes
from pretexeval.storage.store import Store
from tasks.asking.model_session import ShowProgress
from tasks.asking.writers import ask_for_replies, identify_writer
from tasks.judging.calibration import Calibration, JudgedRewording, Limits, calibrate
from tasks.judging.judge import LIFTABLE, Judge, Thresholds, combine_scores
from tasks.judging.measurement import read_labelled

CALIBRATE = "pretexeval gate FILE --judge CONFIG --calibrate"


def plan_judge(config: Config, *, is_calibrated: bool = True) -> Judge | None:
    """Return the judge of a configuration without loading it; null if there is none.

    Args:
        is_calibrated: whether to read the calibration that the configuration names.

    Raises:
        InputError: there is no such model, or the calibration cannot be read or is of another judge.
    """
    writer, table = config.find_judge(), config.judge
    if writer is None:
        return None
    judge = Judge(identify_writer(writer), table)
    if table.calibration is None or not is_calibrated:
        return judge
    thresholds = read_thresholds(table.calibration, judge)
    return Judge(judge.writer, table, thresholds, checksum_file(table.calibration))


def read_thresholds(path: Path, judge: Judge) -> Thresholds:
    """Return the thresholds of a calibration file.

    Raises:
        InputError: the file cannot be read, or is of another judge.
    """
    place = f"judge.calibration = {str(path)!r}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        judge_id, threshold = table["judge"], float(table["threshold"])
        lift = None if (listed := table.get("lift_threshold")) is None else float(listed)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place} is not a calibration ({error!r}); write it with `{CALIBRATE}`") from error
    if judge_id != judge.judge_id:
        raise InputError(
            f"{place} is of another judge, {judge_id}; this one is {judge.judge_id} (its model, instruction "
            f"or another setting differs): calibrate it with `{CALIBRATE}`"
        )
    for value in (threshold, lift):
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"{place} has the threshold {value:g}, which is not in 0 to 1")
    return Thresholds(threshold, lift)


def calibrate_judge(
    data: Path, config: Config, store: Store, limits: Limits, show: ShowProgress
) -> tuple[Judge, Calibration]:
    """Ask the judge of a configuration about labelled rewordings, and choose its thresholds.

    Args:
        data: a file as `read_labelled` reads it.
        limits: what the judge may cost.

    Raises:
        InputError: there is no judge, it cannot be used or leaves a prompt without an answer, or the file
            cannot be read or has fewer than two relations.
    """
    judge, rows = plan_judge(config, is_calibrated=False), read_labelled(data)
    if judge is None:
        raise InputError("the configuration has no judge: give writer or model in [judge]")
    if rows["relation"].n_unique() < 2:
        raise InputError(
            f"{data} has one relation; a calibration leaves whole relations out, so give two or more"
        )
    judged = judge_rewordings(rows, judge, store, show)
    return judge, calibrate(judged, limits)


def judge_rewordings(
    rows: pl.DataFrame, judge: Judge, store: Store, show: ShowProgress
) -> list[JudgedRewording]:
    """Check labelled rewordings by the rules, and ask the judge about those that it may decide.

    Raises:
        InputError: the judge cannot be loaded or reached, or leaves a prompt without an answer.
    """
    reasons = check_rewordings(rows)
    are_asked = [LIFTABLE.issuperset(each) for each in reasons]
    prompts = [
        judge.build_prompts(row["statement"], row["text"])
        for row in rows.filter(pl.Series(are_asked, dtype=pl.Boolean)).iter_rows(named=True)
    ]
    asked = [prompt for both in prompts for prompt in both]
    with show(f"judge {judge.writer.config.name}", len(asked)) as advance:
        replies = ask_for_replies(store, judge.writer, asked, advance)
    scores = iter(
        [combine_scores(*(judge.read_score(replies[prompt.key]) for prompt in both)) for both in prompts]
    )
    labels = rows.select("relation", pl.col("error").fill_null("") == "").iter_rows()
    return [
        JudgedRewording(relation, is_sound, each, next(scores) if is_asked else None)
        for (relation, is_sound), each, is_asked in zip(labels, reasons, are_asked, strict=True)
    ]


def write_calibration(path: Path, calibration: Calibration, judge: Judge, data: Path) -> None:
    """Write a calibration as TOML: the judge, the thresholds, the rules, the data, and all counts."""
    head = {
        "judge": judge.judge_id,
        "threshold": calibration.thresholds.accept,
        "lift_threshold": calibration.thresholds.lift,
        **asdict(calibration.limits),
        "rules": GATE_VERSION,
        "data": data.name,
        "data_checksum": checksum_file(data),
    }
    tables = [_render_table("pooled", asdict(calibration.pooled))]
    for name, (thresholds, outcome) in calibration.relations.items():
        chosen = {"threshold": thresholds.accept, "lift_threshold": thresholds.lift}
        tables.append(_render_table(f"relations.{render_toml(name)}", {**chosen, **asdict(outcome)}))
    introduction = f"# Written by `{CALIBRATE}`. Each relation has the thresholds from the others."
    text = "\n\n".join([f"{introduction}\n{_render_keys(head)}", *tables])
    write_bytes(path, f"{text}\n".encode())


def _render_table(name: str, values: dict[str, object]) -> str:
    return f"[{name}]\n{_render_keys(values)}"


def _render_keys(values: dict[str, object]) -> str:
    """Return keys and values in TOML; null values are left out."""
    lines = [f"{key} = {render_toml(value)}" for key, value in values.items() if value is not None]
    return "\n".join(lines)

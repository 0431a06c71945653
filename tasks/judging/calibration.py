"""The thresholds of a judge, from labelled rewordings with whole relations left out in turn."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass

from report.console import align
from tasks.judging.judge import LIFTABLE, Thresholds
from tasks.judging.measurement import render_share

REJECTS, LIFTS = "rejects", "lifts"


@dataclass(frozen=True)
class JudgedRewording:
    """A labelled rewording, as the rules and the judge see it."""

    relation: str
    is_sound: bool
    reasons: tuple[str, ...]
    """Why the rules reject it; empty if they accept it."""
    score: float | None
    """The judge's score; null if the judge was not asked, or gave no answer."""

    @property
    def is_liftable(self) -> bool:
        """Whether the rules reject it, and only for reasons that a judge may overrule."""
        return bool(self.reasons) and LIFTABLE.issuperset(self.reasons)

    def is_rejected(self, thresholds: Thresholds) -> bool:
        """Return whether it is rejected at the end; an answer that is missing speaks against it."""
        if self.reasons:
            return not (self.is_liftable and thresholds.is_lifted(self.score))
        return self.score is None or self.score < thresholds.accept


@dataclass(frozen=True)
class Outcome:
    """What rules and judge do with the rewordings of one relation, or of several."""

    n_wrong: int
    n_caught_by_rules: int
    n_caught: int
    """Wrong ones that are rejected at the end."""
    n_sound: int
    n_rejected_by_rules: int
    n_rejected: int
    """Sound ones that are rejected at the end."""


@dataclass(frozen=True)
class Limits:
    """What a judge may cost."""

    max_rejected: float = 0.05
    """Share of the sound rewordings accepted by the rules that the judge may reject."""
    max_lifted: float = 0.05
    """Share of the wrong rewordings that the judge may let pass although the rules reject them."""


@dataclass(frozen=True)
class Calibration:
    """Thresholds from all rewordings, and what they do on relations that they were not chosen with."""

    thresholds: Thresholds
    limits: Limits
    relations: dict[str, tuple[Thresholds, Outcome]]
    """Relation -> the thresholds from all other relations, and what they do on this one."""
    pooled: Outcome
    """All relations, each with the thresholds from the others."""


def calibrate(rows: Sequence[JudgedRewording], limits: Limits) -> Calibration:
    """Choose the thresholds on all rows, and measure them by leaving one relation out in turn.

    A judge does not reject, or does not lift, if that does not help on the relations left out
    (`list_uses`).
    """
    uses = list_uses(rows, _leave_out(rows, limits, (REJECTS, LIFTS)), limits)
    relations = {
        name: (thresholds, count_outcome([row for row in rows if row.relation == name], thresholds))
        for name, thresholds in _leave_out(rows, limits, uses).items()
    }
    pooled = _add(outcome for _, outcome in relations.values())
    return Calibration(choose_thresholds(rows, limits, uses), limits, relations, pooled)


def _leave_out(
    rows: Sequence[JudgedRewording], limits: Limits, uses: Collection[str]
) -> dict[str, Thresholds]:
    """Return relation -> the thresholds from all other relations."""
    names = sorted({row.relation for row in rows})
    return {
        name: choose_thresholds([row for row in rows if row.relation != name], limits, uses) for name in names
    }


def list_uses(
    rows: Sequence[JudgedRewording], thresholds: Mapping[str, Thresholds], limits: Limits
) -> tuple[str, ...]:
    """Return what the judge is good for, where each relation has the thresholds from the others.

    It may reject if it rejects a larger share of the wrong rewordings that the rules accept than of the sound
    ones. It may lift if it lifts more sound ones than wrong ones, and no more wrong ones than the limit.
    """

    def list_rejected(is_sound: bool, *, by_rules: bool) -> list[bool]:
        """Return, for each rewording of this kind, whether it is rejected at the end."""
        return [
            row.is_rejected(thresholds[row.relation])
            for row in rows
            if row.is_sound == is_sound and bool(row.reasons) == by_rules
        ]

    uses = []
    if _share(list_rejected(False, by_rules=False)) > _share(list_rejected(True, by_rules=False)):
        uses.append(REJECTS)
    n_sound, n_wrong = (list_rejected(is_sound, by_rules=True).count(False) for is_sound in (True, False))
    if n_wrong < n_sound and n_wrong <= limits.max_lifted * sum(not row.is_sound for row in rows):
        uses.append(LIFTS)
    return tuple(uses)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def choose_thresholds(
    rows: Sequence[JudgedRewording], limits: Limits, uses: Collection[str] = (REJECTS, LIFTS)
) -> Thresholds:
    """Return the thresholds that reject most wrong and lift most sound rewordings within the limits."""
    accept = choose_threshold(rows, limits.max_rejected) if REJECTS in uses else 0.0
    return Thresholds(accept, choose_lift(rows, limits.max_lifted) if LIFTS in uses else None)


def choose_threshold(rows: Iterable[JudgedRewording], max_rejected: float) -> float:
    """Return the threshold that catches most wrong rewordings within the allowed share of sound ones.

    Only rewordings that the rules accept count. The threshold is halfway between the highest score that it
    rejects and the next one. It is 0, which rejects nothing with a score, if no wrong one can be caught.
    """
    passed = [row for row in rows if not row.reasons]
    sound = sorted(-1.0 if row.score is None else row.score for row in passed if row.is_sound)
    wrong = sorted(row.score for row in passed if not row.is_sound and row.score is not None)
    n_allowed = int(max_rejected * len(sound) + 1e-9)
    limit = sound[n_allowed] if n_allowed < len(sound) else float("inf")
    caught = [score for score in wrong if score < limit]
    if not caught:
        return 0.0
    above = [score for score in (*sound, *wrong) if score > caught[-1]]
    return (caught[-1] + min(above, default=1.0)) / 2


def choose_lift(rows: Sequence[JudgedRewording], max_lifted: float) -> float | None:
    """Return the threshold that lifts most sound rewordings within the allowed share of wrong ones.

    It is halfway between the lowest score that it lifts and the next one; null if no sound one can be lifted.
    """
    liftable = [row for row in rows if row.is_liftable and row.score is not None]
    sound, wrong = (
        [row.score or 0.0 for row in liftable if row.is_sound == is_sound] for is_sound in (True, False)
    )
    n_allowed = int(max_lifted * sum(not row.is_sound for row in rows) + 1e-9)
    limit = sorted(wrong, reverse=True)[n_allowed] if n_allowed < len(wrong) else -1.0
    lifted = [score for score in sound if score > limit]
    if not lifted:
        return None
    below = [score for score in (*sound, *wrong) if score < min(lifted)]
    return (min(lifted) + max(below, default=0.0)) / 2


def count_outcome(rows: Sequence[JudgedRewording], thresholds: Thresholds) -> Outcome:
    """Return what the rules and the judge do with these rewordings."""
    wrong, sound = ([row for row in rows if row.is_sound == is_sound] for is_sound in (False, True))
    return Outcome(
        len(wrong),
        sum(bool(row.reasons) for row in wrong),
        sum(row.is_rejected(thresholds) for row in wrong),
        len(sound),
        sum(bool(row.reasons) for row in sound),
        sum(row.is_rejected(thresholds) for row in sound),
    )


def _add(outcomes: Iterable[Outcome]) -> Outcome:
    return Outcome(*(sum(column) for column in zip(*map(astuple, outcomes), strict=True)))


def render_calibration(calibration: Calibration) -> str:
    """Return the table of left-out relations, the row of all of them, and the thresholds from all."""
    caught, rejected = ("caught by rules", "with judge"), ("rejected by rules", "with judge")
    header = ("left out", "rejects below", "lifts from", "wrong", *caught, "sound", *rejected)
    rows = [
        [name, *_render_thresholds(thresholds), *_render_outcome(outcome)]
        for name, (thresholds, outcome) in calibration.relations.items()
    ]
    rows.append(["all, each left out", "", "", *_render_outcome(calibration.pooled)])
    accept, lift = _render_thresholds(calibration.thresholds)
    limits = calibration.limits
    lines = [
        "Each relation with the thresholds from the others:",
        align(header, rows),
        "",
        f"thresholds from all relations: rejects below {accept}, lifts from {lift}",
        f"The judge may reject {limits.max_rejected:.1%} of the sound rewordings that the rules accept, and "
        f"let pass {limits.max_lifted:.1%} of the wrong ones although the rules reject them.",
    ]
    return "\n".join(lines) + "\n"


def _render_thresholds(thresholds: Thresholds) -> tuple[str, str]:
    return f"{thresholds.accept:.6g}", "nothing" if thresholds.lift is None else f"{thresholds.lift:.6g}"


def _render_outcome(outcome: Outcome) -> Iterator[str]:
    for n, parts in (
        (outcome.n_wrong, (outcome.n_caught_by_rules, outcome.n_caught)),
        (outcome.n_sound, (outcome.n_rejected_by_rules, outcome.n_rejected)),
    ):
        yield str(n)
        yield from (render_share(part, n) for part in parts)

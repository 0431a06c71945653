"""The values in the figures: shares and differences with their intervals, in rows and along curves."""

from dataclasses import dataclass
from typing import ClassVar

from report.axes import quote_link
from report.browser.links import link_choices, link_mastered, link_samples
from report.contents import Row
from report.formats import (
    NOTHING,
    format_count,
    format_interval,
    format_percent,
    format_points,
    format_span,
)


@dataclass(frozen=True)
class Measure:
    """A measure, and the mark that represents it in every figure."""

    name: str
    shape: str = "circle"
    glyph: str = "●"


AVERAGE = Measure("average accuracy")
MASTERY = Measure("mastery", "diamond", "◆")


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval."""

    measure: Measure
    value: float | None
    low: float | None
    high: float | None
    of: str
    """The total of the share, in words."""
    link: str = ""
    """The address of the samples behind it, from the page of the figure; empty without a link."""
    note: str = ""
    """What the link shows, where the share has no set of samples of its own."""
    width: ClassVar[int] = 2
    """The usual number of characters of `short`."""

    @property
    def as_link(self) -> dict[str, str]:
        """Return the field of a figure's mark that links to the samples; empty without a link."""
        return {"link": quote_link(self.link)} if self.link else {}

    @property
    def tip(self) -> str:
        """Return the text, and what the link shows if that is not obvious."""
        return f"{self.text}. {self.note}" if self.note else self.text

    @property
    def text(self) -> str:
        """Return the measure, value, interval and n in words."""
        interval = format_interval(self.low, self.high)
        return f"{self.measure.name} {format_percent(self.value)} (95 % interval {interval}; {self.of})"

    @property
    def short(self) -> str:
        """Return the value in whole percent."""
        return NOTHING if self.value is None else str(round(100 * self.value))


@dataclass(frozen=True)
class Difference(Share):
    """The difference of two shares, with its 95 % interval."""

    width: ClassVar[int] = 3

    @property
    def text(self) -> str:
        """Return the measure, the difference in percentage points, the interval and n in words."""
        span = format_span(self.low, self.high)
        text = f"{self.measure.name} {format_points(self.value)} points (95 % interval {span}; {self.of})"
        is_within = self.low is not None and self.high is not None and self.low <= 0 <= self.high
        return f"{text}, not distinguishable from 0" if is_within else text

    @property
    def short(self) -> str:
        """Return the difference in whole percentage points."""
        return format_points(self.value, 0)


@dataclass(frozen=True)
class DotRow:
    """One line of a dot chart: a name, and one or two shares."""

    name: str
    colour: str
    shares: tuple[Share, ...]

    @property
    def text(self) -> str:
        """Return the name and the shares in words."""
        known = [share.text for share in self.shares if share.value is not None]
        return f"{self.name}: {', '.join(known) or 'nothing to measure'}"


@dataclass(frozen=True)
class Curve:
    """A line over n = 1, 2, …: a name, and a share at each n."""

    name: str
    colour: str
    dash: tuple[int, ...]
    shares: tuple[Share, ...]

    @property
    def text(self) -> str:
        """Return the first and the last share in words."""
        first, last = (format_percent(self.shares[k].value) for k in (0, -1))
        return f"{self.name}: {first} at n = 1, {last} at n = {len(self.shares)}"


def build_average(row: Row) -> Share:
    """Build the average accuracy of a row of a view."""
    of = f"{format_count(row['n_samples'])} samples of {format_count(row['n_pairs'])} pairs"
    link = _link(row)
    return Share(
        AVERAGE,
        row["average_accuracy"],
        row["average_accuracy_ci_low"],
        row["average_accuracy_ci_high"],
        of,
        link,
    )


def build_mastery(row: Row) -> Share:
    """Build the mastery of a row of a view."""
    of = f"{format_count(row['n_complete_pairs'])} pairs"
    link = link_mastered(row) if "model_id" in row else ""
    return Share(MASTERY, row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"], of, link)


def _link_difference(row: Row, kind: str, here: str, there: str) -> tuple[str, str]:
    """Return the link to what one model has and the other lacks, and what it shows."""
    link = link_samples(row, **{kind: here}, against=row["other_model_id"], there=there)
    return link, f"The link shows what is {here} here and {there} there"


def _link(row: Row) -> str:
    """Return the link to the samples behind a row; empty for the row of a shortcut, which has no samples."""
    return link_samples(row) if "model_id" in row else ""


def build_curve_share(row: Row) -> Share:
    """Build the joint accuracy of a row of joint_accuracy_curve."""
    of = f"{format_count(row['n_triplets'])} triplets of {format_count(row['n_pairs'])} pairs"
    measure = build_all_right_measure(row["n"])
    link, note = link_choices(row)
    return Share(
        measure,
        row["joint_accuracy"],
        row["joint_accuracy_ci_low"],
        row["joint_accuracy_ci_high"],
        of,
        link,
        note,
    )


def build_all_right_measure(n: int) -> Measure:
    """Build the measure of the joint accuracy of n samples."""
    return Measure(f"all right when n = {n} are asked:")


def build_average_difference(row: Row, of: str) -> Difference:
    """Build the difference in average accuracy of a row of model_comparison."""
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    link, note = _link_difference(row, "outcome", "right", "wrong")
    return Difference(AVERAGE, row["difference"], low, high, of, link, note)


def build_mastery_difference(row: Row, of: str) -> Difference:
    """Build the difference in mastery of a row of model_comparison."""
    low, high = row["mastery_difference_ci_low"], row["mastery_difference_ci_high"]
    link, note = _link_difference(row, "fact", "mastered", "missed")
    return Difference(MASTERY, row["mastery_difference"], low, high, of, link, note)

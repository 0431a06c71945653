"""The values that the figures draw: shares with their intervals, in rows and along curves."""

from dataclasses import dataclass

from report.contents import Row
from report.formats import format_count, format_interval, format_percent


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    of: str
    """What it is a share of, in words."""

    @property
    def text(self) -> str:
        """In words: measure, value, interval, n."""
        interval = format_interval(self.low, self.high)
        return f"{self.measure} {format_percent(self.value)} (95 % interval {interval}; {self.of})"


@dataclass(frozen=True)
class DotRow:
    """One line of a dot chart: a name, and one or two shares."""

    name: str
    colour: str
    shares: tuple[Share, ...]

    @property
    def text(self) -> str:
        """In words."""
        known = [share.text for share in self.shares if share.value is not None]
        return f"{self.name}: {', '.join(known) or 'nothing to measure'}"


@dataclass(frozen=True)
class Curve:
    """A line over n = 1, 2, …: a name and a share at each n."""

    name: str
    colour: str
    dash: tuple[int, ...]
    shares: tuple[Share, ...]

    @property
    def text(self) -> str:
        """In words: the first and the last share."""
        first, last = (format_percent(self.shares[k].value) for k in (0, -1))
        return f"{self.name}: {first} at n = 1, {last} at n = {len(self.shares)}"


def average_of(row: Row) -> Share:
    """The average accuracy in a row of a view."""
    of = f"{format_count(row['n_samples'])} samples of {format_count(row['n_pairs'])} pairs"
    return Share("average accuracy", row["average_accuracy"], row["ci_low"], row["ci_high"], of)


def mastery_of(row: Row) -> Share:
    """The mastery in a row of a view."""
    of = f"{format_count(row['n_complete_pairs'])} pairs"
    return Share("mastery", row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"], of)


def joint_of(row: Row) -> Share:
    """The joint accuracy in a row of joint_accuracy_curve."""
    of = f"{format_count(row['n_triplets'])} triplets of {format_count(row['n_pairs'])} pairs"
    measure = f"all right when n = {row['n']} are asked:"
    return Share(measure, row["joint_accuracy"], row["ci_low"], row["ci_high"], of)

"""Simulated models: functions that answer a sample."""

from tests.support.stage_rows import Row, digest


def expert(sample: Row) -> bool | None:
    """Answer everything right."""
    return bool(sample["label"])


def always_true(sample: Row) -> bool | None:
    return True


def polarity(sample: Row) -> bool | None:
    """Answer True to what is affirmed and False to what is denied."""
    return bool(sample["label"] == sample["is_positive"])


def denial(sample: Row) -> bool | None:
    """Answer False to what is affirmed and True to what is denied."""
    return bool(sample["label"] != sample["is_positive"])


def silent(sample: Row) -> bool | None:
    return None


def erratic(sample: Row) -> bool | None:
    """Answer three samples in four right and one in ten not at all, by the hash of the text."""
    draw = int(digest("erratic", sample["text"]), 16) % 100
    if draw < 10:
        return None
    return bool(sample["label"]) if draw < 85 else not sample["label"]

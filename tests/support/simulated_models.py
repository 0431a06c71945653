"""Models in a line: what each answers to a sample."""

from tests.support.stage_rows import Row, digest


def expert(sample: Row) -> bool | None:
    """Knows everything."""
    return bool(sample["label"])


def always_true(sample: Row) -> bool | None:
    return True


def polarity(sample: Row) -> bool | None:
    """Believes what is affirmed, denies what is denied."""
    return bool(sample["label"] == sample["is_positive"])


def silent(sample: Row) -> bool | None:
    return None


def erratic(sample: Row) -> bool | None:
    """Right on about three samples in four, no answer to one in ten: by the hash of the text."""
    draw = int(digest("erratic", sample["text"]), 16) % 100
    if draw < 10:
        return None
    return bool(sample["label"]) if draw < 85 else not sample["label"]

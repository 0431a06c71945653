from pathlib import Path

import pytest

from preflight.text_supply import count_text_supply, render_text_supply
from tests.support.small_bases import make_base, make_edition


def test_heads_have_as_many_texts_as_tails_times_wordings(tmp_path: Path) -> None:
    facts = {f"head {i}": ["fever", "cough", "rash"][: 1 if i < 3 else 3] for i in range(12)}
    edition = make_edition(tmp_path, make_base(r=facts))
    n_wordings = len(edition.pool.relations["r"].cells["none"].wordings)
    supply = count_text_supply(edition)
    assert [each.n_editions for each in supply] == [n_wordings, 3 * n_wordings]
    assert [each.head_share for each in supply] == pytest.approx([0.25, 1.0])
    assert f"25% of the heads have been used after {n_wordings} editions" in render_text_supply(supply)

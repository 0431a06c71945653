"""The limit on new words that a writer's panel calls for: in the keys of files, the manifest and warnings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pretexeval.config.file import Config
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import write_record
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import Completion
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.edition.wrong_texts import describe_wrong_texts, find_new_words_limit, warn_of_wrong_texts
from tasks.judging.writer_errors import read_panel
from tests.support.command import make_rows, write_base


def plan(folder: Path, **rephraser: Any) -> Edition:  # noqa: ANN401
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    pen = {"name": "pen", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    tables = {
        "knowledge": {"name": "own", "format": "table", "path": base},
        "edition": {"negatives": "uniform"},
        "rephraser": {"kind": "model", "writer": "pen", **rephraser},
        "writers": [pen],
        "storage": {"root": folder / "data"},
    }
    return plan_edition(Config.model_validate(tables))


def answer_panel(edition: Edition, reword: Callable[[str], str]) -> None:
    """Store a reply to each prompt of the panel."""
    assert edition.rephraser is not None
    prompts = edition.rephraser.build_panel_prompts()
    store = ResponseStore(edition.root, edition.rephraser.writer.model_id)
    replies = [Completion(reword(text)) for text in read_panel()["statement"]]
    store.append([ask.key for ask in prompts], [ask.prompt for ask in prompts], replies)


def say_again(text: str) -> str:
    return f"It is true that {text[0].lower()}{text[1:]}"


@pytest.mark.parametrize(("reword", "limit"), [(say_again, None), (lambda _: "Hm, what is this about?", 0)])
def test_limit_follows_from_the_panel_and_is_part_of_the_key_of_every_piece(
    tmp_path: Path, reword: Callable[[str], str], limit: int | None
) -> None:
    edition, recipe = plan(tmp_path), RECIPES["attempts"]
    assert find_new_words_limit(edition) == "unknown"
    before = recipe.key_file(edition, "may_treat", [])
    answer_panel(edition, reword)
    assert find_new_words_limit(edition) == limit
    assert recipe.key_file(edition, "may_treat", []) != before
    described = describe_wrong_texts(edition, [], {})["wrong_texts"]
    assert described["max_new_words"] == limit
    assert described["panel"]["n_passed"] == (0 if limit == 0 else read_panel().height)
    assert len(described["panel"]["rewordings"]) == read_panel().height
    assert described["wrong_rate"] is None
    assert describe_wrong_texts(edition, [], {"wrong_texts": {"kept": 1}}) == {"wrong_texts": {"kept": 1}}


def test_name_of_an_edition_covers_the_setting(tmp_path: Path) -> None:
    editions = {value: plan(tmp_path, max_new_words=value) for value in ("auto", "free", 0, 1)}
    assert len({edition.edition_id for edition in editions.values()}) == 4
    free = editions["free"].rephraser
    assert free is not None
    assert (free.is_limited_by_panel, free.max_new_words) == (False, None)
    assert not plan(tmp_path, gate="off").config.rephraser.has_panel


def test_limited_writer_and_free_writer_with_many_wrong_texts_are_named(tmp_path: Path) -> None:
    edition_id, estimate = "own-seed1-0", {"wrong_rate": 0.25, "low": 0.1, "high": 0.5}

    def warn(found: dict[str, Any] | None) -> str | None:
        record = {"edition_id": edition_id, "rephraser": "pen-1", "files": {}, "wrong_texts": found}
        write_record(tmp_path / manifest_file(edition_id), record)
        return warn_of_wrong_texts(tmp_path, edition_id)

    panel = {"n_passed": 8, "n_attempts": 32}
    limited = warn({"max_new_words": 0, **estimate, "wrong_rate": 0.02, "panel": panel})
    assert limited is not None
    assert "8 of 32 rewordings of the panel by pen-1" in limited
    assert "at most 0 new words" in limited
    assert "are wrong: set" not in limited
    free = warn({"max_new_words": None, **estimate})
    assert free is not None
    assert "About 25.0 % (10.0 to 50.0 %)" in free
    assert warn({"max_new_words": None, **estimate, "wrong_rate": 0.03, "panel": panel}) is None
    assert warn({"max_new_words": 0, **dict.fromkeys(estimate)}) is None
    assert warn(None) is None

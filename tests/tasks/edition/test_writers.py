"""The writers of an edition, and the limit on new words that a writer's panel calls for."""

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.file import Config
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import write_record
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion
from schemas.stages import STATEMENTS, TRIPLETS, VARIANTS
from tasks.asking.writers import ask_for_replies
from tasks.edition.attempts import ask_rounds
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.edition.statements import join_entities
from tasks.edition.wrong_texts import describe_wrong_texts, find_new_words_limit, warn_of_wrong_texts
from tasks.judging.writer_errors import read_panel
from tests.support.command import Table, make_rows, write_base
from tests.support.endpoint import Body, Endpoint, EndpointReply, reply_to_chat
from tests.support.small_bases import build_edition

USAGE = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}


def reply(body: Body, _: int) -> EndpointReply:
    """Let the poet reword or write nonsense, the judge say yes or no, and the author write eight lines."""
    content: str = body["messages"][-1]["content"]
    is_even = hashlib.sha256(content.encode()).digest()[0] % 2 == 0
    statement = content.rpartition("Statement: ")[2]
    texts = {
        "poet": statement.replace("The drug", "The medication") if is_even else "Hm.",
        "judge": "Yes" if is_even else "No",
        "author": "\n".join(f"{n}. This is the statement number {n}." for n in range(1, 9)),
    }
    answer = reply_to_chat({"content": texts[body["model"]]}).body
    assert isinstance(answer, dict)
    return EndpointReply(body=answer | {"usage": USAGE})


def plan(folder: Path, writer: Table, names: Iterable[str], **tables: Table) -> Edition:
    """Return the plan of an edition with writers of these names."""
    given = {
        "knowledge": write_base(folder / "own.tsv", make_rows("may_treat")),
        "writers": [{"engine": "openai", **writer, "name": name, "model": name} for name in names],
        "storage": {"root": folder / "data"},
    }
    return plan_edition(Config.model_validate(given | tables))


def plan_priced(folder: Path, endpoint: Endpoint, price: float) -> tuple[Edition, Store]:
    """Return the plan of an edition whose writers have this price, and the store of its root."""
    edition = plan(
        folder,
        {"base_url": endpoint.base_url, "price_input": price, "price_output": 10.0},
        ("poet", "judge", "author"),
        edition={"methods": ["pretexeval", "llmeval"]},
        rephraser={"kind": "model", "writer": "poet", "instruction": "Reword.\nStatement: {statement}"},
        judge={"writer": "judge"},
        llmeval={"writer": "author"},
    )
    return edition, Store(edition.config.storage)


def build(edition: Edition, store: Store) -> None:
    """Ask the writers and build the edition as the flows do, without Prefect."""
    assert edition.rephraser is not None
    assert edition.llmeval is not None
    frames: list[dict[str, pl.DataFrame]] = [{} for _ in edition.pieces]
    for piece, built in zip(edition.pieces, frames, strict=True):
        for stage in (TRIPLETS, VARIANTS, STATEMENTS):
            built[stage.name] = RECIPES[stage.name].build(edition, piece, built)
    rows = [join_entities(built[STATEMENTS.name], built[TRIPLETS.name]) for built in frames]
    ask_rounds(store, rows, edition.rephraser, lambda *_: contextlib.nullcontext(lambda _: None))
    prompts = edition.llmeval.build_prompts(pl.concat(built[TRIPLETS.name] for built in frames))
    ask_for_replies(store, edition.llmeval.writer, prompts, lambda _: None)
    build_edition(edition)


def plan_limited(folder: Path, **rephraser: Any) -> Edition:  # noqa: ANN401
    table = {"kind": "model", "writer": "pen", **rephraser}
    endpoint = {"base_url": "http://127.0.0.1:9/v1"}
    return plan(folder, endpoint, ["pen"], edition={"negatives": "uniform"}, rephraser=table)


def answer_panel(edition: Edition, is_good: bool) -> None:
    """Store a reply to each prompt of the panel."""
    assert edition.rephraser is not None
    prompts = edition.rephraser.build_panel_prompts()
    store = ResponseStore(edition.root, edition.rephraser.writer.model_id)
    said = [f"It is true that {text[0].lower()}{text[1:]}" for text in read_panel()["statement"]]
    replies = [Completion(text if is_good else "Hm, what is this about?") for text in said]
    store.append([ask.key for ask in prompts], [ask.prompt for ask in prompts], replies)


@pytest.mark.parametrize("limit", [None, 0])
def test_limit_follows_from_the_panel_and_is_part_of_the_key_of_every_piece(
    tmp_path: Path, limit: int | None
) -> None:
    edition, recipe = plan_limited(tmp_path), RECIPES["attempts"]
    assert find_new_words_limit(edition) == "unknown"
    before = recipe.key_file(edition, "may_treat", [])
    answer_panel(edition, is_good=limit is None)
    assert find_new_words_limit(edition) == limit
    assert recipe.key_file(edition, "may_treat", []) != before
    described = describe_wrong_texts(edition, [], {})["wrong_texts"]
    assert described["max_new_words"] == limit
    assert described["panel"]["n_passed"] == (0 if limit == 0 else read_panel().height)
    assert len(described["panel"]["rewordings"]) == read_panel().height
    assert described["wrong_rate"] is None
    assert describe_wrong_texts(edition, [], {"wrong_texts": {"kept": 1}}) == {"wrong_texts": {"kept": 1}}


def test_name_of_an_edition_covers_the_setting(tmp_path: Path) -> None:
    editions = {value: plan_limited(tmp_path, max_new_words=value) for value in ("auto", "free", 0, 1)}
    assert len({edition.edition_id for edition in editions.values()}) == 4
    free = editions["free"].rephraser
    assert free is not None
    assert (free.is_limited_by_panel, free.max_new_words) == (False, None)
    assert not plan_limited(tmp_path, gate="off").config.rephraser.has_panel


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
    counts = {"max_new_words": None, **dict.fromkeys(estimate), "n_attempts": 100}
    assert "7 of 100 rewordings by pen-1 were rejected only" in str(warn({**counts, "n_only_name_lost": 7}))
    assert warn({**counts, "n_only_name_lost": 4}) is None
    assert warn(None) is None

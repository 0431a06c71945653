"""The tokens of the judge and of the writer of llmeval: what they were asked, and nothing else."""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pretexeval.config.file import Config
from pretexeval.storage.layout import writer_tokens_record
from pretexeval.storage.store import Store
from schemas.stages import STATEMENTS, TRIPLETS, VARIANTS
from tasks.asking.model_records import restore_model_records
from tasks.asking.writers import ask_for_replies
from tasks.edition.attempts import ask_rounds
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.edition.statements import join_entities
from tasks.edition.writer_tokens import record_writer_tokens
from tasks.judging.writer_errors import read_panel
from tests.support.command import make_rows, write_base
from tests.support.endpoint import Body, Endpoint, EndpointReply, reply_to_chat, serve_endpoint
from tests.support.small_bases import build_edition
from warehouse.catalogue import create_tables
from warehouse.loading import load_writer_tokens
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows

LINES = "\n".join(f"{n}. This is the statement number {n}." for n in range(1, 9))
USAGE = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}


def reply(body: Body, _: int) -> EndpointReply:
    """Let the poet reword or write nonsense, the judge say yes or no, and the author write eight lines."""
    content: str = body["messages"][-1]["content"]
    is_even = hashlib.sha256(content.encode()).digest()[0] % 2 == 0
    statement = content.rpartition("Statement: ")[2]
    texts = {
        "poet": statement.replace("The drug", "The medication") if is_even else "Hm.",
        "judge": "Yes" if is_even else "No",
        "author": LINES,
    }
    answer = reply_to_chat({"content": texts[body["model"]]})
    assert isinstance(answer.body, dict)
    return EndpointReply(body=answer.body | {"usage": USAGE})


@contextlib.contextmanager
def show(_: str, __: int) -> Iterator[Callable[[int], None]]:
    yield lambda _: None


def configure(folder: Path, endpoint: Endpoint, price: float) -> Config:
    table = {"engine": "openai", "base_url": endpoint.base_url, "price_input": price, "price_output": 10.0}
    base = write_base(folder / "own.tsv", make_rows("may_treat"))
    instruction = "Reword.\nStatement: {statement}"
    tables = {
        "knowledge": {"name": "own", "format": "table", "path": base},
        "edition": {"methods": ["pretexeval", "llmeval"]},
        "rephraser": {"kind": "model", "writer": "poet", "instruction": instruction},
        "judge": {"writer": "judge"},
        "llmeval": {"writer": "author"},
        "writers": [table | {"name": name, "model": name} for name in ("poet", "judge", "author")],
        "storage": {"root": folder / "data"},
    }
    return Config.model_validate(tables)


def build(edition: Edition, store: Store) -> None:
    """Ask the writers and build the edition as the flows do, without Prefect."""
    assert edition.rephraser is not None
    assert edition.llmeval is not None
    frames: list[dict[str, pl.DataFrame]] = [{} for _ in edition.pieces]
    for piece, built in zip(edition.pieces, frames, strict=True):
        for stage in (TRIPLETS, VARIANTS, STATEMENTS):
            built[stage.name] = RECIPES[stage.name].build(edition, piece, built)
    rows = [join_entities(built[STATEMENTS.name], built[TRIPLETS.name]) for built in frames]
    ask_rounds(store, rows, edition.rephraser, show)
    prompts = edition.llmeval.build_prompts(pl.concat(built[TRIPLETS.name] for built in frames))
    ask_for_replies(store, edition.llmeval.writer, prompts, lambda _: None)
    build_edition(edition)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Endpoint]]:
    with serve_endpoint(reply) as endpoint:
        folder = tmp_path_factory.mktemp("tokens")
        config = configure(folder, endpoint, 2.0)
        build(plan_edition(config), Store(config.storage))
        yield folder, endpoint


def test_every_request_is_counted_once_with_its_price(served: tuple[Path, Endpoint]) -> None:
    folder, endpoint = served
    config = configure(folder, endpoint, 2.0)
    edition, store = plan_edition(config), Store(config.storage)
    restore_model_records(config.list_writers(), store)
    record_writer_tokens(edition, store)
    build_warehouse(edition.root)
    requests = Counter(body["model"] for _, _, body in endpoint.requests)
    n_panel = read_panel().height
    counts = {
        ("judge", "judge"): requests["judge"],
        ("llmeval", "author"): requests["author"],
        ("panel", "poet"): n_panel,
        ("rephraser", "poet"): requests["poet"] - n_panel,
    }
    assert min(counts.values()) > 0
    rows = {(row["role"], row["model"]): row for row in read_rows(edition.root, "from cost")}
    columns = ("n_prompts", "n_unknown", "n_prompt_tokens", "n_completion_tokens")
    found = {key: tuple(row[name] for name in columns) for key, row in rows.items()}
    assert found == {key: (n, 0, 30 * n, 5 * n) for key, n in counts.items()}
    costs = {key: n * (30 * 2 + 5 * 10) / 1e6 for key, n in counts.items()}
    assert {key: row["cost"] for key, row in rows.items()} == pytest.approx(costs)


def test_a_new_price_is_recorded_and_the_same_one_writes_nothing(served: tuple[Path, Endpoint]) -> None:
    folder, endpoint = served
    config = configure(folder, endpoint, 3.0)
    edition, store = plan_edition(config), Store(config.storage)
    path = edition.root / writer_tokens_record(edition.edition_id)
    record_writer_tokens(edition, store)
    written = path.stat().st_mtime_ns
    record_writer_tokens(edition, store)
    assert path.stat().st_mtime_ns == written
    with duckdb.connect() as connection:
        create_tables(connection)
        load_writer_tokens(connection, edition.root, edition.edition_id)
        rows = connection.execute("select role, price_input from writer_tokens order by role").fetchall()
        assert rows == [("judge", 3.0), ("llmeval", 3.0), ("panel", 3.0)]
        path.write_text("{")
        load_writer_tokens(connection, edition.root, edition.edition_id)
        assert connection.execute("select count(*) from writer_tokens").fetchone() == (3,)
    assert not path.exists()


def test_an_edition_without_these_models_has_no_record(tmp_path: Path) -> None:
    base = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    tables = {"knowledge": {"name": "own", "format": "table", "path": base}, "storage": {"root": tmp_path}}
    config = Config.model_validate(tables)
    record_writer_tokens(plan_edition(config), Store(config.storage))
    assert not (tmp_path / "writer_tokens").exists()

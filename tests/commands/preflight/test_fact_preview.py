"""The preview of a configuration: the very texts that a run asks about, and nothing is written or asked."""

from collections import Counter
from pathlib import Path

import pytest

from commands.main import main
from commands.preflight.fact_preview import preview_edition, render_page, render_preview
from pretexeval.config.file import Config
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tests.support.command import make_rows, write_base
from tests.support.evaluations import list_prompts
from tests.support.parsed_page import parse
from tests.support.small_bases import write_files

HOSTILE = "<script>alert(1)</script>"


def configure(folder: Path, rows: list[tuple[str, str, str]], **tables: object) -> Config:
    base = write_base(folder / "own.tsv", rows)
    far = {"name": "far", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    table: dict[str, object] = {
        "knowledge": {"name": "own", "format": "table", "path": base},
        "models": [far | {"pairs_per_relation": 2}],
        "storage": {"root": folder / "data"},
    }
    return Config.model_validate(table | tables)


def test_the_texts_are_those_that_a_limited_run_asks_about(tmp_path: Path) -> None:
    config = configure(tmp_path, make_rows("may_treat", "may_prevent"))
    preview = preview_edition(config, 2)
    assert not (tmp_path / "data").exists()
    texts = [text.text for facts in preview.facts.values() for fact in facts for text in fact.texts]
    assert len(texts) == 2 * 2 * 16
    edition = plan_edition(config)
    complete_edition(edition, list(write_files(edition).values()), [])
    prompts = list_prompts(plan_evaluation(config, edition.edition_id, "far"))
    asked = {prompt.text.rpartition("Statement: ")[2] for prompt in prompts}
    assert {
        text for text in texts if not any(question.startswith(f'"{text}"') for question in asked)
    } == set()
    assert preview_edition(config, 2).facts == preview.facts


def test_it_is_printed_and_written_as_a_page(tmp_path: Path) -> None:
    rows = [(f"{head}{HOSTILE}", relation, tail) for head, relation, tail in make_rows("may_treat")]
    preview = preview_edition(configure(tmp_path, rows), 1)
    (fact,) = preview.facts["may_treat"]
    printed = render_preview(preview)
    assert f"{fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}" in printed
    assert "<script" not in render_page(preview)
    page = parse(render_page(preview)).text
    for text in fact.texts:
        assert f"{'true' if text.label else 'false':<5}  {text.text}" in printed
        assert text.text in page
    assert "1 of 9 facts" in printed


WRITER = {"name": "w", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
REWORDED = {"rephraser": {"kind": "model", "writer": "w"}, "writers": [WRITER], "llmeval": {"writer": "w"}}


@pytest.mark.parametrize(
    ("methods", "tables", "shown", "unwritten"),
    [
        (["pretexeval", "prototype", "direct"], {}, {"pretexeval": 16, "prototype": 16, "direct": 2}, []),
        (["pretexeval", "prototype"], REWORDED, {"prototype": 16}, ["pretexeval"]),
        (["llmeval"], REWORDED, {}, ["llmeval"]),
    ],
)
def test_every_method_is_shown_or_named(
    tmp_path: Path, methods: list[str], tables: dict[str, object], shown: dict[str, int], unwritten: list[str]
) -> None:
    config = configure(tmp_path, make_rows("may_treat"), edition={"methods": methods}, **tables)
    preview = preview_edition(config, 1)
    (fact,) = preview.facts["may_treat"]
    assert Counter(text.method for text in fact.texts) == shown
    printed, page = render_preview(preview), parse(render_page(preview)).text
    for method in methods:
        assert (f"{method}: a language model has yet to" in printed) == (method in unwritten)
        assert (f"{method}: a language model has yet to" in page) == (method in unwritten)
    assert fact.false_tail in printed
    assert fact.false_tail in page
    assert plan_edition(config).edition_id == preview.edition_id


def test_a_page_replaces_no_file_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    before = path.read_bytes()
    assert main(["preview", "configs/quickstart.toml", "--html", str(path)]) == 2
    assert "does not end in .html" in capsys.readouterr().err
    assert path.read_bytes() == before

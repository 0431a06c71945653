"""The preview of a configuration: the very texts that a run asks about, and nothing is written or asked."""

from collections import Counter
from pathlib import Path

import pytest

from commands.main import main
from commands.preflight.fact_preview import preview_edition, render_page, render_preview
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tests.commands.configurations import FAR, build, configure
from tests.support.command import make_rows
from tests.support.evaluations import list_prompts
from tests.support.parsed_page import parse

HOSTILE = "<script>alert(1)</script>"
HOSTILE_ROWS = [(f"{head}{HOSTILE}", relation, tail) for head, relation, tail in make_rows("may_treat")]
WRITTEN = {"rephraser": {"kind": "model", "writer": "far"}, "writers": [FAR], "llmeval": {"writer": "far"}}


def test_the_texts_are_those_that_a_limited_run_asks_about(tmp_path: Path) -> None:
    models = [FAR | {"pairs_per_relation": 2}]
    config = configure(tmp_path, make_rows("may_treat", "may_prevent"), models=models)
    preview = preview_edition(config, 2)
    assert not (tmp_path / "data").exists()
    texts = [text.text for facts in preview.facts.values() for fact in facts for text in fact.texts]
    assert len(texts) == 2 * 2 * 16
    prompts = list_prompts(plan_evaluation(config, build(config), "far"))
    asked = {prompt.text.rpartition("Statement: ")[2] for prompt in prompts}
    assert [text for text in texts if not any(each.startswith(f'"{text}"') for each in asked)] == []
    assert preview_edition(config, 2).facts == preview.facts


@pytest.mark.parametrize(
    ("methods", "tables", "shown", "unwritten"),
    [
        (["pretexeval", "prototype", "direct"], {}, {"pretexeval": 16, "prototype": 16, "direct": 2}, []),
        (["pretexeval", "prototype"], WRITTEN, {"prototype": 16}, ["pretexeval"]),
        (["llmeval"], WRITTEN, {}, ["llmeval"]),
    ],
)
def test_every_method_is_printed_and_on_the_page(
    tmp_path: Path, methods: list[str], tables: dict[str, object], shown: dict[str, int], unwritten: list[str]
) -> None:
    config = configure(tmp_path, HOSTILE_ROWS, edition={"methods": methods}, **tables)
    preview = preview_edition(config, 1)
    (fact,) = preview.facts["may_treat"]
    assert Counter(text.method for text in fact.texts) == shown
    printed, page = render_preview(preview), parse(render_page(preview)).text
    assert f"{fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}" in printed
    assert "1 of 9 facts" in printed
    assert fact.false_tail in page
    assert "<script" not in render_page(preview)
    for text in fact.texts:
        assert f"{'true' if text.label else 'false':<5}  {text.text}" in printed
        assert text.text in page
    for said in (printed, page):
        assert [each for each in methods if f"{each}: a language model has yet to" in said] == unwritten
    assert plan_edition(config).edition_id == preview.edition_id


def test_a_page_replaces_no_file_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("mine")
    assert main(["preview", "configs/quickstart.toml", "--html", str(path)]) == 2
    assert "does not end in .html" in capsys.readouterr().err
    assert path.read_text() == "mine"

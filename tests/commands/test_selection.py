"""`--model` and `--limit`: what they choose, and that no larger evaluation is lost."""

from pathlib import Path
from typing import Any

import pytest

from commands.main import main
from commands.selection import limit_pairs, select_models
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.run_record import read_run
from tests.commands.configurations import FAR, Parrot, build, write_configuration
from tests.support.command import make_rows
from tests.support.evaluations import ask_model, finish

ROWS = make_rows("may_treat", "may_prevent")
N_TESTED = 9
PER_PAIR = 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    models = [FAR | {"name": "one"}, FAR | {"name": "two", "pairs_per_relation": 3}]
    return write_configuration(tmp_path, ROWS, edition={"methods": ["direct"]}, models=models)


def evaluate(config: Config, name: str) -> dict[str, Any]:
    """Evaluate a model as a run does; return its record."""
    edition = plan_edition(config)
    if not edition.is_complete():
        build(config)
    evaluation = plan_evaluation(config, edition.edition_id, name)
    finish(evaluation, ask_model(evaluation, lambda _: Parrot()))
    record = read_run(evaluation)
    assert record is not None
    return record


def test_models_are_chosen_by_name_and_a_smaller_limit_of_the_configuration_stays(path: Path) -> None:
    config = load_config(path)
    assert [model.name for model in select_models(config, ["two", "one"]).models] == ["one", "two"]
    assert [model.name for model in select_models(config, ["two"]).models] == ["two"]
    with pytest.raises(InputError, match="no model 'three' in the configuration; its models are: one, two"):
        select_models(config, ["one", "three"])
    limited = limit_pairs(config, 5)
    assert [model.pairs_per_relation for model in limited.models] == [5, 3]
    assert plan_edition(limited).edition_id == plan_edition(config).edition_id


def test_the_rest_of_a_limited_evaluation_is_asked_later_and_a_limit_never_replaces_more(path: Path) -> None:
    config = load_config(path)
    few, more = evaluate(limit_pairs(config, 2), "one"), evaluate(config, "one")
    counts = [(each["pairs_per_relation"], each["n_samples"], each["n_asked"]) for each in (few, more)]
    n_few, n_all = 2 * 2 * PER_PAIR, 2 * N_TESTED * PER_PAIR
    assert counts == [(2, n_few, n_few), (None, n_all, n_all - n_few)]
    with pytest.raises(InputError, match=r"larger evaluations .*: one\. Leave out the limit"):
        limit_pairs(config, 2)
    assert limit_pairs(select_models(config, ["two"]), 2).models[0].pairs_per_relation == 2
    paid = config.models[0].model_copy(update={"budget": 64})
    with pytest.raises(InputError, match="--limit is not allowed with the budget of one"):
        limit_pairs(config.model_copy(update={"models": (paid,)}), 2)


def test_a_plan_counts_what_is_chosen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(path), "--model", "one", "--limit", "2"])
    captured = capsys.readouterr()
    (line,) = (line for line in captured.out.splitlines() if line.startswith("one "))
    assert line.split()[:3] == ["one", "evaluation", str(2 * 2 * PER_PAIR)]
    assert "limited to 2 pairs of each relation" in captured.err

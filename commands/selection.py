"""The options `--model` and `--limit`: some of a configuration's models, on some pairs of each relation."""

import argparse
from collections.abc import Callable, Sequence

from commands.arguments import read_count, report_progress
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError, suggest


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options `--model` and `--limit`."""
    add_models(parser)
    parser.add_argument(
        "--limit",
        type=read_count,
        metavar="N",
        help="ask about N pairs of each relation, as with pairs_per_relation in the model's table; the "
        "edition stays the same, and a run without it asks about the rest",
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the option `--model`."""
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="only the model with this name (repeat for several; default: all models)",
    )


def select_evaluations(config: Config, options: argparse.Namespace) -> Config:
    """Return the configuration with the models and the pairs that the options choose; see `select_some`."""
    return select_some(config, options.model, options.limit, report_progress)


def select_some(
    config: Config, models: Sequence[str] | None, limit: int | None, report_step: Callable[[str], None]
) -> Config:
    """Return the configuration with some models and pairs; None stands for all of them.

    Raises:
        InputError: no model has such a name, or a model was asked about more pairs before.
    """
    if models is not None:
        config = select_models(config, models)
    if limit is None:
        return config
    if limit < 1:
        raise InputError(f"a limit of {limit} pairs leaves nothing to ask; give 1 or more")
    config = limit_pairs(config, limit)
    report_step(f"limited to {limit} pairs of each relation; run without --limit to ask about all of them")
    return config


def select_models(config: Config, names: Sequence[str]) -> Config:
    """Return the configuration with these models only, in its own order."""
    known = [model.name for model in config.models]
    if unknown := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        near = suggest(unknown[0], known)
        raise InputError(f"no model {unknown[0]!r} in the configuration{near}; its models are: {listed}")
    chosen = tuple(model for model in config.models if model.name in names)
    return config.model_copy(update={"models": chosen})


def limit_pairs(config: Config, limit: int) -> Config:
    """Return the configuration with at most so many pairs per relation for every model.

    Raises:
        InputError: a model was asked about more pairs of this edition: its evaluation would be replaced by a
            smaller one.
    """
    limits = {model.name: min(limit, model.pairs_per_relation or limit) for model in config.models}
    if larger := _find_larger(config, limits):
        raise InputError(
            f"a limit of {limit} pairs would replace larger evaluations of this edition by smaller ones: "
            f"{', '.join(larger)}. Leave out the limit (stored answers are not asked again), or choose other "
            "models"
        )
    models = (model.model_copy(update={"pairs_per_relation": limits[model.name]}) for model in config.models)
    return config.model_copy(update={"models": tuple(models)})


def _find_larger(config: Config, limits: dict[str, int]) -> list[str]:
    """Return the models whose evaluation, here or in the shared storage, covers more pairs than the limit."""
    from commands.in_process import open_store
    from tasks.edition.planning import plan_edition
    from tasks.evaluation.evaluation import plan_evaluation
    from tasks.evaluation.run_record import read_run

    edition_id, store, larger = plan_edition(config).edition_id, open_store(config.storage), []
    for name, setting in config.list_evaluations():
        try:
            evaluation = plan_evaluation(config, edition_id, name, setting)
            store.pull_answers(edition_id, evaluation.model_id, evaluation.folder)
        except InputError:
            # The run reports why this model cannot be evaluated.
            continue
        if record := read_run(evaluation):
            asked = record["pairs_per_relation"]
            if asked is None or asked > limits[name]:
                larger.append(name)
    return list(dict.fromkeys(larger))

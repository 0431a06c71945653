"""The subcommands that prepare an evaluation: init, draft, deploy."""

import argparse
import shlex
from pathlib import Path

from commands.arguments import Subcommands, add_command, add_config, read_path, write_output
from commands.prefect_server import require_named_server
from pretexeval.config.file import load_config
from pretexeval.primitives.errors import InputError

HERE = Path(__file__).parents[1]
SCAFFOLD = HERE / "configs" / "scaffold"
MODELS = HERE / "models"


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    summary = "Write a configuration, a small knowledge base and its prototypes, to replace them by yours."
    parser = add_command(subcommands, "init", create_scaffold, summary, ["", "mine"])
    parser.add_argument(
        "folder", type=read_path, nargs="?", default=Path(), help="the folder (default: the one you are in)"
    )
    _add_draft(subcommands)
    _add_deploy(subcommands)


def create_scaffold(options: argparse.Namespace) -> int:
    """Write the files unless one of them exists; print what they are and what comes next."""
    contents = {
        path.relative_to(SCAFFOLD).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(SCAFFOLD.rglob("*"))
        if path.is_file()
    }
    contents["config.toml"] = contents["config.toml"].replace("@MODELS@", MODELS.as_posix())
    if existing := [name for name in contents if (options.folder / name).exists()]:
        raise InputError(
            f"{options.folder / existing[0]} exists already, and nothing was written: choose another folder"
        )
    from pretexeval.storage.disk import measure_free_space
    from pretexeval.storage.files import write_bytes

    measure_free_space(options.folder)
    for name, content in contents.items():
        write_bytes(options.folder / name, content.encode())
        write_output(options.folder / name)
    start = "" if options.folder == Path() else f"cd {shlex.quote(str(options.folder))}\n"
    next_steps = "\n".join(f"pretexeval {command} config.toml" for command in ("validate", "run"))
    write_output(f"\n{start}{next_steps}")
    return 0


def _add_draft(subcommands: Subcommands) -> None:
    summary = "Write the eight prototypes of a relation from one English sentence that states it."
    examples = [
        'config.toml may_treat "The drug aspirin may treat the disease headache."',
        'config.toml causes "Mutations in the gene [X] cause the disease [Y]."',
    ]
    parser = add_command(subcommands, "draft", draft, summary, examples)
    add_config(
        parser, "a TOML file with the knowledge base and, in pool of [edition], the TOML pool to write"
    )
    parser.add_argument("relation", help="the name of the relation, as in the knowledge base")
    meaning = "what is true of a fact, in English, with its names, or [X] for the head and [Y] for the tail"
    parser.add_argument("sentence", help=f"{meaning}; a noun before each says what it is")


def draft(options: argparse.Namespace) -> int:
    """Write the prototypes of a relation, and print them with the names of five facts."""
    import polars as pl

    from pretexeval.config.tables import name_relation
    from pretexeval.knowledge.reader import read_knowledge_base
    from prototypes.drafting import add_draft, choose_facts, draft_prototypes, place_slots
    from prototypes.pool import BUNDLED
    from prototypes.templates import MIN_WORDINGS
    from tasks.edition.statements import write_sentences

    config = load_config(options.config)
    if (name := config.edition.pool) == BUNDLED:
        raise InputError(
            f'pool {name!r} is bundled: write pool = "prototypes.toml" in [edition], and run again'
        )
    base, relation = read_knowledge_base(config.knowledge), name_relation(options.relation)
    if (facts := base.select_relation(relation)).is_empty():
        named = ", ".join(base.relations)
        raise InputError(f"the base has no relation {relation!r}: choose one of {named}")
    drafted = draft_prototypes(place_slots(options.sentence, facts))
    add_draft(Path(name), relation, drafted)
    shown = choose_facts(facts, n=5)
    for form, text in drafted.cells.items():
        write_output(f"{form:<10}  {text}")
        rows = shown if form == "none" else shown.head(1)
        for sentence in write_sentences(rows.with_columns(pl.lit(text).alias("template"))):
            write_output(f"{'':<10}  - {sentence}")
    for advice in drafted.advice:
        write_output(f"advice      {advice}")
    if config.questions.settings:
        write_output("questions   none drafted: they need texts of their own (docs/multifaceteval.md)")
    if config.rephraser.kind == "reviewed" and "pretexeval" in config.edition.methods:
        few = f"`reviewed` needs at least {MIN_WORDINGS} further wordings of each text"
        write_output(f'rephraser   {few}: write them, or write kind = "none" in [rephraser]')
    then = f"pretexeval validate {shlex.quote(str(options.config))}"
    write_output(f"written to {name}: change what does not read well, then: {then}")
    return 0


def _add_deploy(subcommands: Subcommands) -> None:
    summary = "Register the work pools, deployments and the schedule with a Prefect server, or remove it."
    examples = ["configs/medlama.toml", "configs/medlama.toml --remove"]
    parser = add_command(subcommands, "deploy", deploy, summary, examples)
    add_config(parser, "the TOML file of the scheduled runs")
    parser.add_argument(
        "--home",
        type=Path,
        metavar="FOLDER",
        help="the folder in which runs start, if pools of containers ask the models: /app in the images "
        "(default: the one you are in, and workers on hosts ask the models)",
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help="delete the deployment of this configuration with its schedule and its waiting runs",
    )


def deploy(options: argparse.Namespace) -> int:
    """Register the configuration with a Prefect server or remove it, and print what is there."""
    if options.remove:
        require_named_server()
        from commands.deploy.registration import remove

        write_output(remove(options.config))
        return 0
    config = load_config(options.config)
    require_named_server()
    from commands.deploy.registration import deploy

    for line in deploy(options.config, config, options.home or Path.cwd()):
        write_output(line)
    return 0

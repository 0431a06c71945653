"""The subcommands that prepare an evaluation: init, draft, deploy, undeploy."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from commands.arguments import Subcommands, add_command, add_config, read_path, write_output
from commands.deploy.local.client_settings import load_client_settings
from commands.prefect_server import require_named_server
from pretexeval.config.file import load_config
from pretexeval.config.installation_names import DEFAULT_POOL, find_installation
from pretexeval.primitives.errors import InputError

if TYPE_CHECKING:
    from commands.deploy.cards import GpuWorker

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
    _add_undeploy(subcommands)


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
    from pretexeval.storage.files import write_bytes

    for name, content in contents.items():
        write_bytes(options.folder / name, content.encode())
        write_output(options.folder / name)
    start = "" if options.folder == Path() else f"cd {options.folder}\n"
    next_steps = "\n".join(f"pretexeval {command} config.toml" for command in ("validate", "preview", "run"))
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

    from pretexeval.knowledge.reader import read_knowledge_base
    from prototypes.drafting import add_draft, choose_facts, draft_prototypes, place_slots
    from prototypes.pool import list_bundled
    from tasks.edition.statements import write_sentences

    config = load_config(options.config)
    if (name := config.edition.pool) in list_bundled():
        raise InputError(
            f'pool {name!r} is bundled: write pool = "prototypes.toml" in [edition], and run again'
        )
    base = read_knowledge_base(config.knowledge)
    if (facts := base.select_relation(options.relation)).is_empty():
        named = ", ".join(base.relations)
        raise InputError(f"the base has no relation {options.relation!r}: choose one of {named}")
    drafted = draft_prototypes(place_slots(options.sentence, facts))
    add_draft(Path(name), options.relation, drafted)
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
    write_output(
        f"written to {name}: change what does not read well, then: pretexeval validate {options.config}"
    )
    return 0


def _add_deploy(subcommands: Subcommands) -> None:
    summary = "Register the work pools, the deployments and the schedule with a Prefect server."
    examples = [
        "configs/medlama.toml --gpus 0,1,2,3 --gpus 4 --gpus 5 --dry-run",
        "configs/medlama.toml --pool-type kubernetes --runs gpu=4 --update-pools",
    ]
    parser = add_command(subcommands, "deploy", deploy, summary, examples)
    add_config(parser, "the TOML file of the scheduled runs")
    parser.add_argument(
        "--gpus",
        type=_read_worker,
        action="append",
        metavar="[POOL=]CARDS",
        help="the cards of one worker, such as 0 or 0,1,2,3, as for commands.deploy.local; repeat the option "
        "for each worker (default: one worker for each card of this host)",
    )
    parser.add_argument(
        "--runs",
        type=_read_runs,
        action="append",
        default=[],
        metavar="[POOL=]N",
        help="how many runs a pool of containers starts at once (default: one in a new pool; a pool that "
        "exists keeps its limit without --update-pools)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only print which worker holds which cards, and asks which models",
    )
    parser.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    parser.add_argument(
        "--pools",
        type=read_path,
        help="settings of runs in containers (default: commands/deploy/pools.toml of the project)",
    )
    parser.add_argument(
        "--update-pools", action="store_true", help="apply --runs and --pools to pools that exist"
    )
    _add_installation(parser)


def _add_undeploy(subcommands: Subcommands) -> None:
    summary = (
        "Remove a configuration with its schedule from the Prefect server; with the last one, everything."
    )
    parser = add_command(subcommands, "undeploy", undeploy, summary, ["configs/medlama.toml"])
    add_config(parser, "the TOML file that was deployed")
    _add_installation(parser)


def _add_installation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--installation",
        metavar="NAME",
        help="the name of this installation on the server (default: that of the variable "
        "PRETEXEVAL_INSTALLATION, or else pretexeval)",
    )


def deploy(options: argparse.Namespace) -> int:
    """Register everything with a Prefect server, and print what was created, changed and left."""
    config = load_config(options.config)
    from commands.deploy.cards import describe_workers, list_default_workers

    workers = (options.gpus or list_default_workers()) if options.pool_type == "process" else []
    held = list(describe_workers(workers, config.list_pools())) if workers else []
    if options.dry_run:
        write_output("\n".join(held))
        return 0
    load_client_settings(config.storage.root)
    require_named_server()
    from commands.deploy.deployments import POOLS, deploy

    changes = deploy(
        options.config,
        workers,
        dict(options.runs),
        options.pool_type,
        options.pools or POOLS,
        find_installation(options.installation),
        updates_pools=options.update_pools,
    )
    for change in changes:
        write_output(change.render())
    return 0


def undeploy(options: argparse.Namespace) -> int:
    """Remove the configuration from the server, and print what was removed, changed and left."""
    config = load_config(options.config)
    load_client_settings(config.storage.root)
    require_named_server()
    from commands.deploy.removal import undeploy

    changes = undeploy(options.config, config, find_installation(options.installation))
    for change in changes:
        write_output(change.render())
    if not changes:
        write_output(f"{options.config} is not deployed")
    return 0


def _read_worker(text: str) -> "GpuWorker":
    from commands.deploy.cards import read_gpu_worker

    return read_gpu_worker(text)


def _read_runs(text: str) -> tuple[str, int]:
    """Return the pool and how many runs it starts at once."""
    pool, _, number = text.rpartition("=")
    return pool or DEFAULT_POOL, int(number)

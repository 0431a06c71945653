"""A complete edition, and models behind an endpoint that are asked about it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.config.tables import StorageConfig
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import Evaluation
from tests.support.command import write_base
from tests.support.endpoint import (
    Body,
    EndpointReply,
    build_error,
    build_model_config,
    build_reply,
    serve_endpoint,
)
from tests.support.small_bases import build_edition, make_base, make_edition, make_facts, write_files

Serve = Callable[..., Evaluation]


def build_questions(folder: Path, setting: Setting, **tables: object) -> tuple[Config, str]:
    """Build an edition with samples and questions, and return its configuration and its name."""
    relation = "therapeutic_drugs"
    rows = [(f"condition {i}", relation, f"drug {(i + k) % 17}") for i in range(24) for k in range(1 + i % 4)]
    config = Config.model_validate(
        {
            "knowledge": write_base(folder / "own.tsv", rows),
            "edition": {"methods": ["direct"]},
            "questions": {"settings": [setting]},
            "storage": {"root": folder / "data"},
            **tables,
        }
    )
    edition = plan_edition(config)
    build_edition(edition)
    return config, edition.edition_id


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The root and the name of a complete edition of two relations; every test gets a copy."""
    root = tmp_path_factory.mktemp("built")
    edition = make_edition(root, make_base(r=make_facts(12, 4), s=make_facts(9, 3)))
    return root, complete_edition(edition, list(write_files(edition).values()), [])


@pytest.fixture
def serve(tmp_path: Path, built: tuple[Path, str]) -> Iterator[Serve]:
    """Yield a function that makes an evaluation of a model that answers so; None: the prompt fails."""
    root, edition_id = built
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    answers: dict[str, Callable[[str], str | None]] = {}

    def reply(body: Body, _: int) -> EndpointReply:
        text = answers[body["model"]](body["prompt"])
        return build_error(400, "this prompt fails") if text is None else build_reply(text)

    with serve_endpoint(reply) as endpoint:

        def write(
            name: str, answer: Callable[[str], str | None] = lambda _: " True", **table: object
        ) -> Evaluation:
            answers[name] = answer
            model = build_model_config(endpoint.base_url, name=name, model=name, **table)
            return Evaluation(StorageConfig(root=tmp_path), edition_id, model)

        yield write


@pytest.fixture
def evaluation(serve: Serve) -> Evaluation:
    """Return an evaluation of a model that answers True to every prompt."""
    return serve("yes")

"""Every configuration of the project is built from an excerpt of its base, up to the requests."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from commands.main import main
from pretexeval.config.file import load_config
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import write_toml
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.request_files import write_requests
from tests.commands.configurations import build
from tests.support.command import REPOSITORY, run_command
from tests.support.endpoint import Body, EndpointReply, build_reply, reply_to_chat, serve_endpoint

pytestmark = pytest.mark.slow

FILES = sorted([*REPOSITORY.glob("configs/*.toml"), *REPOSITORY.glob("examples/*/config.toml")])
# Made rows in the formats and under the names of the public files (docs/paper-results.md).
EXCERPTS = Path(__file__).with_name("excerpts")
STUDENT = REPOSITORY / "models" / "reference-facets-small"
# Keys of a model that only its own files or cards need.
OF_OTHER_FILES = ("revision", "tensor_parallel_size", "trust_remote_code", "quantization", "workers")
N_HEADS = 8


def write_small(file: Path, target: Path, address: str) -> None:
    """Write the configuration with a bundled model in place of its models, and with an endpoint as writer."""
    tables: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    tables["storage"] = {"root": str(target.parent / target.stem)}
    knowledge = tables.setdefault("knowledge", {})
    if knowledge.get("format", "starter") == "starter":
        # The last two relations of configs/facets.toml, and of all.
        knowledge["relations"] = knowledge.get("relations", ["symptoms", "therapeutic_drugs"])[-2:]
        tables.setdefault("edition", {})["heads_per_relation"] = N_HEADS
    for model in tables["models"]:
        if model.get("engine", "vllm") == "vllm":
            kept = {key: value for key, value in model.items() if key not in OF_OTHER_FILES}
            model.clear()
            model.update(kept | {"model": str(STUDENT), "prompt_style": "completion"})
    for writer in tables.get("writers", []):
        served = {"name": writer["name"], "engine": "openai", "model": "writer", "base_url": address}
        style = {key: writer[key] for key in ("prompt_style", "system_prompt") if key in writer}
        writer.clear()
        writer.update(served | style)
    write_toml(target, tables)


def reply(body: Body, _: int) -> EndpointReply:
    text = "[gene] is one. " * 8
    return reply_to_chat({"content": text}) if "messages" in body else build_reply(text)


def test_every_configuration_leads_to_requests(
    tmp_path: Path, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"PRETEXEVAL_REFERENCE_DATA": str(EXCERPTS), "OPENAI_API_KEY": "-", "GEMINI_API_KEY": "-"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["init", str(tmp_path / "mine")]) == 0
    failures = []
    with serve_endpoint(reply) as endpoint:
        for file in [*FILES, tmp_path / "mine" / "config.toml"]:
            # Relative paths start there.
            folder = REPOSITORY if file in FILES else file.parent
            monkeypatch.chdir(folder)
            small = tmp_path / f"{file.parent.name}-{file.stem}.toml"
            write_small(file, small, endpoint.base_url)
            try:
                config = load_config(small)
                # Only what writers are asked takes a flow.
                if config.list_used_writers():
                    run_command(
                        "build", small, folder=folder, environment=prefect_server | environment
                    ).require()
                    edition_id = plan_edition(config).edition_id
                else:
                    edition_id = build(config)
            except (AssertionError, InputError) as error:
                failures.append(f"{file}: {error}")
                continue
            for model, setting in config.list_evaluations():
                requests = write_requests(plan_evaluation(config, edition_id, model, setting))
                if requests.n_samples == 0:
                    failures.append(f"{file}: nothing is asked of {model} ({setting})")
    assert not failures, "\n".join(failures)

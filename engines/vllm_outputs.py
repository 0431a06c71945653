"""The outputs of vLLM while it works on a list of prompts: each is handed over when it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput


@contextmanager
def watch_outputs(llm: LLM, on_output: Callable[[int, RequestOutput], None]) -> Iterator[None]:
    """Call `on_output` with the position and the output of each prompt of a `generate` in the block.

    `generate` returns nothing before all prompts are finished, and loses all outputs if the engine crashes.
    """
    engine = llm.llm_engine
    n_before, step = llm.request_counter.counter, engine.step

    def step_and_report() -> list[RequestOutput]:
        outputs: list[RequestOutput] = step()
        for output in outputs:
            if output.finished:
                # Requests are numbered in the order of the prompts.
                on_output(int(output.request_id) - n_before, output)
        return outputs

    engine.step = step_and_report
    try:
        yield
    finally:
        del engine.step

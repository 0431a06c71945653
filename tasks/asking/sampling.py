"""The sampling parameters of a configured model: what is sent with every prompt, and so part of its key."""

from typing import Any

from pretexeval.config.engines import STREAM, EngineConfig
from pretexeval.primitives.hashing import render_canonical_json
from schemas.exchange import Sampling


def build_sampling(
    config: EngineConfig,
    *,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int | None = None,
    stop: tuple[str, ...] = (),
    logprobs: bool = False,
    top_p: float | None = None,
) -> Sampling:
    """Return these parameters with those that the model's table adds, renames or leaves out."""
    return Sampling(
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        stop=stop,
        logprobs=logprobs,
        top_p=top_p,
        extra_body=render_canonical_json(config.extra_body) if config.extra_body else None,
        leave_out=tuple(sorted({*config.leave_out} - {STREAM})),
        rename=tuple(sorted(config.rename.items())),
    )


def describe_asking(config: EngineConfig) -> dict[str, Any]:
    """Return, as JSON, the settings of the model's table that change its replies; only those that are set."""
    settings = {
        "extra_body": config.extra_body,
        "leave_out": sorted({*config.leave_out} - {STREAM}),
        "rename": config.rename,
    }
    given = {name: value for name, value in settings.items() if value}
    marks = config.reasoning_marks
    return given if marks is None else given | {"reasoning_marks": list(marks)}

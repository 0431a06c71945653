"""The parameters of a request to an OpenAI endpoint, and what to set if the endpoint refuses one of them."""

import re
from typing import Any

from schemas.exchange import Sampling

# The maximum that the API guarantees.
N_LOGPROBS_COMPLETION = 5
N_LOGPROBS_CHAT = 20


def build_parameters(sampling: Sampling, style: str) -> dict[str, Any]:
    """Return the sampling parameters as they are in the body of a request."""
    given = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed_of_repeat,
        "stop": list(sampling.stop) or None,
    }
    names = dict(sampling.rename)
    body: dict[str, Any] = {
        names.get(name, name): value
        for name, value in given.items()
        if value is not None and name not in sampling.leave_out
    }
    if sampling.logprobs and style == "chat":
        body |= {"logprobs": True, "top_logprobs": N_LOGPROBS_CHAT}
    elif sampling.logprobs:
        body["logprobs"] = N_LOGPROBS_COMPLETION
    return body | sampling.read_extra_body()


def advise_on_refusal(message: str, sampling: Sampling, style: str) -> str:
    """Return "; " and what to set if the endpoint's message names a parameter that was sent; else nothing."""
    original = {new: name for name, new in sampling.rename}
    for sent in build_parameters(sampling, style):
        if re.search(rf"\b{re.escape(sent)}\b", message):
            return f"; {_advise(original.get(sent, sent), message, sampling)} in the table of the model"
    return ""


def _advise(name: str, message: str, sampling: Sampling) -> str:
    if name == "max_tokens" and "max_completion_tokens" in message and not sampling.rename:
        return 'set rename = { max_tokens = "max_completion_tokens" }'
    if name in sampling.read_extra_body():
        return f"change {name} in extra_body"
    if name in ("logprobs", "top_logprobs"):
        return "set logprobs = false"
    return f'set leave_out = ["{name}"], so that it is not sent,'

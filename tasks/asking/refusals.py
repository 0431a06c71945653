"""Refusals: prompts that an endpoint rejects with a status that sending them again does not change."""

import re
from collections.abc import Sequence

from primitives.errors import InputError
from schemas.exchange import Completion

# The wording with which engines/openai_answers.py stores the status of a failed prompt.
_STATUS = re.compile(r"HTTP (4\d\d): ")
# Timeout, conflict, too early, too many requests: the same prompt can pass later.
TEMPORARY = (408, 409, 425, 429)
REMEDIES = {
    400: "compare the model's table (model, prompt_style, max_tokens, logprobs, extra_body, rename, "
    "leave_out) with what the endpoint accepts",
    402: "check the balance of the account",
    403: "check what the key may use",
}


def read_refusal(completion: Completion) -> int | None:
    """Return the HTTP status with which the endpoint rejected the prompt; null if it did not."""
    found = _STATUS.match(completion.error or "")
    status = int(found[1]) if found else None
    return None if status in TEMPORARY else status


def is_refused(completions: Sequence[Completion]) -> bool:
    """Return whether the endpoint rejected every one of these prompts."""
    return bool(completions) and all(read_refusal(completion) is not None for completion in completions)


def explain_refusal(name: str, completions: Sequence[Completion]) -> InputError:
    """Return the error for a model whose endpoint rejected every one of these prompts, in its own words."""
    first = completions[0]
    remedy = REMEDIES.get(read_refusal(first) or 400, REMEDIES[400])
    return InputError(
        f"model {name!r}: the endpoint refused every one of {len(completions):,} prompts ({first.error}); "
        f"{remedy}, then run the same command again: it asks them again"
    )

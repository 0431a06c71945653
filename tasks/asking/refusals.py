"""Endpoints that answer no prompt any more: told apart from prompts that fail, and explained."""

import re
from collections.abc import Sequence

from primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Completion

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


def have_failed(completions: Sequence[Completion]) -> bool:
    """Return whether every one of these prompts failed. One that is too long says nothing of the endpoint."""
    return bool(completions) and all(
        completion.status == "error" and not (completion.error or "").startswith(PROMPT_TOO_LONG)
        for completion in completions
    )


def explain_failure(name: str, completions: Sequence[Completion]) -> InputError:
    """Return the error for a model whose endpoint answered none of these prompts, in its own words."""
    first, n = completions[0], len(completions)
    status = read_refusal(first)
    said = f"refused every one of {n:,} prompts" if status else f"answered none of {n:,} prompts"
    remedy = REMEDIES.get(status, REMEDIES[400]) if status else "check that it is in order"
    return InputError(
        f"model {name!r}: the endpoint {said} ({first.error}); {remedy}, then run the same command again: it "
        "asks them again"
    )

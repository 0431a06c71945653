"""The limit of the costs of an endpoint's answers (`max_cost`)."""

from pretexeval.config.engines import EngineConfig
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling

TEMPLATE_TOKENS = 256
"""Tokens that an endpoint may add to a prompt: its chat template and a default system prompt."""


class Spending:
    """The costs of the answers since the engine was made, and the highest costs of the open requests."""

    def __init__(self, config: EngineConfig) -> None:
        """Begin with nothing spent."""
        self._config = config
        self._spent = self._reserved = 0.0
        self._n_open = self._n_answers = 0
        self.has_stopped = False
        """True if a prompt was not asked because of the limit."""

    def allows(self, prompt: Prompt, sampling: Sampling) -> bool:
        """Return whether the limit holds if this prompt and all open requests cost as much as they can."""
        limit = self._config.max_cost
        if limit is None:
            return True
        most = self._spent + self._reserved + self._bound(prompt, sampling)
        self.has_stopped = most > limit and not self._n_open
        return most <= limit

    def open(self, prompt: Prompt, sampling: Sampling) -> None:
        """Reserve what a request may cost."""
        self._reserved += self._bound(prompt, sampling)
        self._n_open += 1

    def close(self, prompt: Prompt, sampling: Sampling, completion: Completion, *, is_paid: bool) -> None:
        """Replace what was reserved for a request by what it cost.

        Args:
            is_paid: whether there may be costs. Without numbers of tokens, they are what was reserved.
        """
        bound = self._bound(prompt, sampling)
        self._n_open -= 1
        self._reserved = self._reserved - bound if self._n_open else 0.0
        n_in, n_out = completion.n_prompt_tokens, completion.n_completion_tokens
        if n_in is not None and n_out is not None:
            self._spent += self._price(n_in, n_out)
        elif is_paid:
            self._spent += bound
        self._n_answers += is_paid

    def explain_stop(self) -> InputError:
        """Return the error that says what was spent, and what to do."""
        return InputError(
            f"model {self._config.name!r}: the next request could make this run cost more than max_cost = "
            f"{self._config.max_cost:g} ({self._n_answers:,} answers have cost {self._spent:.4g}); the "
            "answers are kept, so set a higher max_cost, or run the same command again to spend as much once "
            "more"
        )

    def _bound(self, prompt: Prompt, sampling: Sampling) -> float:
        # Every token has at least one byte.
        return self._price(len(prompt.text.encode()) + TEMPLATE_TOKENS, sampling.max_tokens)

    def _price(self, n_in: int, n_out: int) -> float:
        return self._config.compute_cost(n_in, n_out) or 0.0

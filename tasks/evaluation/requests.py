"""Stage requests: the prompt of every item for one model, and the key of its answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.primitives.hashing import hash_text
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.stages import N_DEMONSTRATIONS, REQUESTS
from tasks.asking.prompts import AskedQuestion, PromptForm, fit_prompt
from tasks.evaluation.items import GROUP, Group, ItemKind

REQUESTS_VERSION = 3
"""Count it up when `build_requests` gives other requests for the same arguments."""
UNKNOWN_SAMPLING = "{}"
Shots = dict[Group, tuple[str, ...]]
"""Group -> its demonstrations, as they are shown."""


@dataclass(frozen=True)
class RequestSettings:
    """Settings with which one model is asked."""

    model_id: str
    form: PromptForm
    sampling: Sampling
    n_tokens_limit: int | None
    """The most tokens that prompt and answer together may have; None: not known."""
    count_tokens: Callable[[str], float]
    n_demonstrations: int = N_DEMONSTRATIONS
    """Number of demonstrations that are shown, the first ones in their drawn order."""
    n_repeats: int = 1
    """Number of times that each prompt is asked."""
    is_reasoned: bool = False
    """True if the model reasons before it answers, after demonstrations that do so too."""

    def fit(self, shots: Sequence[str], question: str) -> tuple[Prompt, int]:
        """Return the prompt, and how many demonstrations were dropped from its front to make it fit."""
        limit, shown = self.n_tokens_limit, shots[: self.n_demonstrations]
        n_tokens_left = None if limit is None else limit - self.sampling.max_tokens
        return fit_prompt(self.form, shown, question, n_tokens_left, self.count_tokens)


@dataclass(frozen=True)
class Requests:
    """The requests about items; ``prompts`` has one prompt per row of ``frame``, in the same order."""

    frame: pl.DataFrame
    prompts: list[Prompt]


def show_demonstrations(
    kind: ItemKind, items: pl.DataFrame, chains: Mapping[str, str] | None = None
) -> Shots:
    """Return group -> its demonstrations.

    Args:
        items: the items of whole relations, of both splits.
        chains: item_id -> the chain of thought to show, for a setting in which the model reasons. Held-out
            items without a chain are then not shown. None: demonstrations are answered at once.
    """
    shots: dict[Group, list[str]] = {}
    for row in kind.draw_demonstrations(items).iter_rows(named=True):
        chain = None if chains is None else chains.get(row["item_id"])
        if chains is None or chain is not None:
            group = (row["relation"], row["group"], row["form"])
            shot = AskedQuestion.from_row(row)
            shots.setdefault(group, []).append(shot.render_answered(row["answer"], chain))
    return {group: tuple(texts) for group, texts in shots.items()}


def build_requests(items: pl.DataFrame, shots: Shots, settings: RequestSettings) -> Requests:
    """Return one request per item and repeat. Items that share their demonstrations follow each other."""
    ordered = items.sort(*GROUP[1:], "item_id", maintain_order=True)
    prompts, n_dropped = [], []
    for relation, group, form, *item in ordered.select(
        *GROUP, "type", "text", "options", "offered"
    ).iter_rows():
        question = AskedQuestion(*item).render(is_reasoned=settings.is_reasoned)
        # llmeval may have no usable text of any held-out pair, and so no demonstrations.
        prompt, dropped = settings.fit(shots.get((relation, group, form), ()), question)
        prompts.append(prompt)
        n_dropped.append(dropped)
    keys = [hash_prompt(settings.model_id, prompt, settings.sampling) for prompt in prompts]
    once = ordered.select(
        "item_id",
        pl.lit(settings.model_id).alias("model_id"),
        pl.Series("prompt_key", keys, pl.String),
        "relation",
        pl.Series("n_demonstrations_dropped", n_dropped, pl.Int16),
        pl.lit(settings.form.style).alias("prompt_style"),
        pl.lit(settings.sampling.render_json()).alias("sampling"),
        "weight",
    )
    repeats = (once.with_columns(repeat=pl.lit(n, pl.Int16)) for n in range(settings.n_repeats))
    return Requests(pl.concat(repeats).select(REQUESTS.names), prompts * settings.n_repeats)


def hash_import(model_id: str, setting: str | None, item_id: str) -> str:
    """Return the key of the imported responses to an item (32 hex digits).

    Nobody knows the prompts of imported responses, so they are stored under keys of the items.
    """
    return hash_text("imported", model_id, setting or "", item_id, digits=32)


def select_imported(built: Requests, setting: str | None, store: ResponseStore) -> Requests:
    """Return one request per imported response to an item, from the requests of one repeat."""
    keys = [
        hash_import(*row) for row in built.frame.select("model_id", pl.lit(setting), "item_id").iter_rows()
    ]
    stored = store.read(["prompt_key", "repeat"]).sort("prompt_key", "repeat")
    joined = (
        built.frame.drop("repeat")
        .with_columns(pl.Series("prompt_key", keys, pl.String), sampling=pl.lit(UNKNOWN_SAMPLING))
        .with_row_index("place")
        .join(stored, on="prompt_key", maintain_order="left_right")
    )
    return Requests(joined.select(REQUESTS.names), [built.prompts[place] for place in joined["place"]])

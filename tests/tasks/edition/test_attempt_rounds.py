"""The rounds of several relations, with a real response store and an invented model."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.config.engines import EngineConfig, WriterConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from pretexeval.engines.identity import identify_model
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.writers import Writer
from tasks.edition.attempts import ask_rounds
from tasks.edition.rephraser import Rephraser
from tasks.judging.writer_errors import read_panel
from tests.tasks.edition.test_attempts import ASTHMA, ECZEMA, TABLE, make_rows

FACTS = [ASTHMA, ECZEMA]


class Parrot:
    """Rewords statements about asthma well; its replies about eczema never pass the gate."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        assert on_progress is not None
        on_progress(len(prompts))
        return [
            Completion("Asthma may be treated with salbutamol." if "asthma" in p.text else "Hm.")
            for p in prompts
        ]

    def close(self) -> None:
        """Close nothing."""


def load(_: EngineConfig) -> Engine:
    return Parrot()


def test_progress_of_every_round_ends_at_its_total(tmp_path: Path) -> None:
    recording = tmp_path / "w.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    config = WriterConfig(name="w", engine="recorded", model=str(recording))
    writer = Writer(config, identify_model(config).model_id)
    rephraser = Rephraser(writer, TABLE.instruction, 0.7, 64, 3, seed=1)
    shown: list[list[object]] = []

    @contextlib.contextmanager
    def show(title: str, total: int) -> Iterator[Callable[[int], None]]:
        shown.append([title, total, 0])

        def advance(n: int) -> None:
            shown[-1][2] += n  # type: ignore[operator]

        yield advance

    store = Store(StorageConfig(root=tmp_path / "data"))
    relations = [make_rows(*FACTS), make_rows(ASTHMA)]
    attempts = ask_rounds(store, relations, rephraser, show, load)
    # Two relations have the same prompt, which is asked once.
    assert shown == [
        ["rephraser w, round 1", 3, 3],
        ["rephraser w, round 2", 1, 1],
        ["rephraser w, round 3", 1, 1],
    ]
    assert [frame["is_accepted"].to_list() for frame in attempts] == [[True, False, False, False], [True]]
    assert ask_rounds(store, relations, rephraser, show, load)[0].equals(attempts[0])
    # Both relations wait for one panel, in which the model fails, so that it may change no words.
    shown.clear()
    limited = ask_rounds(store, relations, replace(rephraser, is_limited_by_panel=True), show, load)
    n = read_panel().height
    assert shown[0] == ["panel w, round 1", n, n]
    assert [title for title, *_ in shown[1:]] == [f"rephraser w, round {number}" for number in (1, 2, 3)]
    assert not pl.concat(limited)["is_accepted"].any()

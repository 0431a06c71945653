"""A nearly full disk, and answers that are larger than `max_tokens` allows: none that was sent is lost."""

import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import FULL_DISK, InputError
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Sampling
from tasks.asking.model_session import ModelSession, ReceivedAnswers
from tests.support.endpoint import build_model_config
from tests.support.raw_endpoint import RawReply, build_prompts, render_answer, serve_bytes

N_PROMPTS = 160


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=9500k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only, and not in every container")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)


def write_text(prompt: str, n_bytes: int = 130_000) -> str:
    """Return a text that cannot be compressed much."""
    return random.Random(prompt).randbytes(n_bytes // 2).hex()


def ask(base_url: str, root: Path) -> str | None:
    """Ask what has no answer; return why the session ended early."""
    config = build_model_config(base_url, timeout_s=30, concurrency=16)
    prompts = build_prompts(*(f"p{n}" for n in range(N_PROMPTS)))
    with ModelSession(config, Store(StorageConfig(root=root))) as session:
        waiting = {key: prompts[key] for key in prompts.keys() - session.store.read_settled_keys()}
        try:
            session.ask(waiting, Sampling(), lambda _: None)
        except InputError as error:
            return str(error)
    return None


def read_answers(root: Path) -> dict[str, str]:
    rows = pl.concat(map(pl.read_parquet, root.glob("responses/*/part-*.parquet")))
    return dict(rows.select("prompt", "response").iter_rows())


def test_sending_stops_before_an_answer_does_not_fit(disk: Path) -> None:
    with serve_bytes(lambda prompt, _: RawReply(render_answer(write_text(prompt)))) as endpoint:
        error = ask(endpoint.base_url, disk)
        assert "there is no room for" in str(error)
        assert "make room and run again" in str(error)
        kept = read_answers(disk)
        assert kept == {prompt: write_text(prompt) for prompt in endpoint.asked}
        assert 5 <= len(kept) < N_PROMPTS
        enlarge(disk)
        assert ask(endpoint.base_url, disk) is None
    assert set(endpoint.asked.values()) == {1}
    assert len(read_answers(disk)) == N_PROMPTS


def test_of_a_chunk_that_does_not_fit_as_many_answers_as_possible_are_stored(disk: Path) -> None:
    """Another process has taken the space that was reserved. The last answer is larger than the disk."""
    store = Store(StorageConfig(root=disk)).open_responses("m")
    sizes = [300_000] * 39 + [12_000_000]
    answers = ReceivedAnswers(build_prompts(*(f"p{n}" for n in range(40))), store.append, 0.0)
    answers.received.update({n: Completion(write_text(f"p{n}", size)) for n, size in enumerate(sizes)})
    with pytest.raises(OSError, match="No space") as raised:
        answers.store_what_fits()
    assert raised.value.errno in FULL_DISK
    n_kept = len(read_answers(disk))
    assert n_kept >= 25
    assert n_kept == len(answers.outcomes) == 40 - len(answers.received)
    with suppress(OSError):
        answers.store_what_fits()
    enlarge(disk)
    answers.store_what_fits()
    assert len(read_answers(disk)) == 40

"""A nearly full disk, and answers that are larger than `max_tokens` allows: none that was sent is lost."""

import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import FULL_DISK, InputError
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.model_session import ModelSession, ReceivedAnswers
from tests.support.endpoint import build_model_config
from tests.support.raw_endpoint import RawReply, build_prompts, render_answer, serve_bytes

N_PROMPTS = 160


@dataclass(frozen=True)
class Disk:
    """A small file system."""

    folder: Path

    def resize(self, size: str) -> None:
        command = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        subprocess.run(command, check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=9500k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only, and not in every container")
    yield Disk(folder)
    subprocess.run(["umount", str(folder)], check=True)


def write_text(prompt: str, n_bytes: int) -> str:
    """Return a text that cannot be compressed much."""
    return random.Random(prompt).randbytes(n_bytes // 2).hex()


def ask(base_url: str, root: Path) -> str | None:
    """Ask what has no answer; return why the session ended early."""
    config = build_model_config(base_url, timeout_s=30, concurrency=16)
    with ModelSession(config, Store(StorageConfig(root=root))) as session:
        prompts = build_prompts(*(f"p{n}" for n in range(N_PROMPTS)))
        settled = session.store.read_settled_keys()
        try:
            waiting = {key: prompt for key, prompt in prompts.items() if key not in settled}
            session.ask(waiting, Sampling(), lambda _: None)
        except InputError as error:
            return str(error)
    return None


def read_answers(root: Path) -> dict[str, str]:
    files = list(root.glob("responses/*/part-*.parquet"))
    rows = pl.read_parquet(files) if files else pl.DataFrame({"prompt": [], "response": []})
    return dict(rows.select("prompt", "response").iter_rows())


@pytest.mark.parametrize("n_bytes", [130_000, 480_000])
def test_sending_stops_before_an_answer_does_not_fit(disk: Disk, n_bytes: int) -> None:
    def reply(prompt: str, _: int) -> RawReply:
        return RawReply(render_answer(write_text(prompt, n_bytes)))

    with serve_bytes(reply) as endpoint:
        error = ask(endpoint.base_url, disk.folder)
        assert "there is no room for" in str(error)
        assert "make room and run again" in str(error)
        kept = read_answers(disk.folder)
        assert kept == {prompt: write_text(prompt, n_bytes) for prompt in endpoint.asked}
        assert 5 <= len(kept) < N_PROMPTS
        disk.resize("400m")
        assert ask(endpoint.base_url, disk.folder) is None
        assert set(endpoint.asked.values()) == {1}
        assert len(read_answers(disk.folder)) == N_PROMPTS


def test_of_a_chunk_that_does_not_fit_as_many_answers_as_possible_are_stored(disk: Disk) -> None:
    """Another process has taken the space that was reserved."""
    store = Store(StorageConfig(root=disk.folder)).open_responses("m")
    prompts = build_prompts(*(f"p{n}" for n in range(40)))
    # The last one is larger than the disk.
    sizes = [300_000] * 39 + [12_000_000]

    def write(keys: list[str], asked: list[Prompt], completions: list[Completion]) -> None:
        store.append(keys, asked, completions)

    answers = ReceivedAnswers(prompts, write, 0.0)
    answers.received.update({n: Completion(write_text(f"p{n}", size)) for n, size in enumerate(sizes)})
    with pytest.raises(OSError, match="No space") as raised:
        answers.store_what_fits()
    assert raised.value.errno in FULL_DISK
    n_kept = len(read_answers(disk.folder))
    assert n_kept >= 25
    assert n_kept == len(answers.outcomes) == 40 - len(answers.received)
    with suppress(OSError):
        answers.store_what_fits()
    disk.resize("100m")
    answers.store_what_fits()
    assert len(read_answers(disk.folder)) == 40

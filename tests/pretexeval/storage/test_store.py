"""What hosts exchange through a bucket: editions, answers, evaluations, publications and removals.

Each host is a folder of its own, and Moto's server keeps the bucket.
"""

import errno
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.bucket import Bucket
from pretexeval.storage.layout import WAREHOUSE, evaluation_folder, withdrawal_record
from pretexeval.storage.publication import hold_publication, list_pieces, remove_edition, sync_everything
from pretexeval.storage.records import read_manifest, read_manifest_files, write_record
from pretexeval.storage.store import Store
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.failures import has_failure, record_failure, write_failure
from tasks.evaluation.run_record import is_complete
from tests.support.evaluations import CountingEngine, ask_model, finish, list_prompts
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
KINDS = ("editions", "responses", "predictions")
Hosts = tuple[StorageConfig, StorageConfig]
Stores = tuple[Store, Store]
Evaluations = list[Evaluation]


def read_as_unfinished(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with marks by which every answer is a thought that does not end."""
    marks = {"reasoning_marks": ("", "</think>")}
    return replace(evaluation, model=evaluation.model.model_copy(update=marks))


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("an engine was loaded")


@pytest.fixture(scope="session")
def model() -> ModelConfig:
    return ModelConfig(name="model", engine="openai", model="x", base_url="http://127.0.0.1:9/v1")


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory, model: ModelConfig) -> Path:
    """Return the root of a complete edition that is evaluated."""
    root = tmp_path_factory.mktemp("evaluated")
    edition = make_edition(root, BASE)
    complete_edition(edition, list(write_files(edition).values()), [])
    evaluation = Evaluation(StorageConfig(root=root), edition.edition_id, model)
    finish(evaluation, ask_model(evaluation, lambda _: CountingEngine()))
    return root


@pytest.fixture
def hosts(moto: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    moto.set_environment(monkeypatch)
    shared = moto.make_address()
    a, b = (StorageConfig(root=tmp_path / name, shared=shared) for name in "ab")
    return a, b


@pytest.fixture
def stores(hosts: Hosts) -> Stores:
    return Store(hosts[0]), Store(hosts[1])


@pytest.fixture
def edition(hosts: Hosts, evaluated: Path) -> Edition:
    """Return an edition that is complete on the first host."""
    shutil.copytree(evaluated / "editions", hosts[0].root / "editions")
    return make_edition(hosts[0].root, BASE)


def read_tree(root: Path, *folders: str) -> dict[str, str]:
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): checksum_file(path) for path in paths}


@pytest.fixture
def bucket(stores: Stores) -> Bucket:
    assert stores[0].bucket is not None
    return stores[0].bucket


@pytest.fixture
def unasked(hosts: Hosts, edition: Edition, model: ModelConfig) -> Evaluations:
    """Return the same evaluation as each host sees it, which both have the edition of."""
    shutil.copytree(hosts[0].root, hosts[1].root)
    return [Evaluation(host, edition.edition_id, model) for host in hosts]


@pytest.fixture
def evaluations(unasked: Evaluations, evaluated: Path) -> Evaluations:
    """Return the same, complete on the first host, which has sent it."""
    shutil.copytree(evaluated, unasked[0].root, dirs_exist_ok=True)
    share(unasked[0])
    return unasked


def share(evaluation: Evaluation) -> None:
    store = Store(evaluation.storage)
    store.sync_responses(evaluation.model_id)
    store.push_evaluation_files(evaluation.folder)


def pull(evaluation: Evaluation) -> None:
    Store(evaluation.storage).pull_answers(evaluation.edition_id, evaluation.model_id, evaluation.folder)


def test_store_without_a_bucket_does_nothing(tmp_path: Path) -> None:
    store = Store(StorageConfig(root=tmp_path))
    store.pull_answers("edition", "model", "predictions/edition/model")
    store.push_edition("edition")
    sync_everything(store)
    with store.hold_lease("model") as require_held, hold_publication(store):
        require_held()
    assert not list(tmp_path.iterdir())


def test_edition_appears_on_other_hosts_only_when_it_is_complete(
    stores: Stores, edition: Edition, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = stores
    path = next(iter(read_manifest_files(first.root, edition.edition_id)))
    content = (first.root / path).read_bytes()
    (first.root / path).write_bytes(b"changed")
    first.push_edition(edition.edition_id)
    assert bucket.list_objects("editions") == {}, "a file is damaged"
    (first.root / path).write_bytes(content)
    sent: list[str] = []

    def send_three(path: str) -> None:
        sent.append(path)
        if len(sent) > 3:
            raise KeyboardInterrupt
        bucket.send(path, first.root / path)

    with monkeypatch.context() as patch:
        patch.setattr(first, "send", send_three)
        with pytest.raises(KeyboardInterrupt):
            first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert not second.root.exists()
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(second.root, "editions") == read_tree(first.root, "editions")


def test_damaged_local_file_is_fetched_again_and_damaged_object_is_not_used(
    stores: Stores, edition: Edition, bucket: Bucket
) -> None:
    first, second = stores
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    local, remote = sorted(read_manifest_files(first.root, edition.edition_id))[:2]
    (second.root / local).write_bytes(b"changed")
    (second.root / remote).unlink()
    # It has the same size, so the list of objects does not show the damage.
    bucket.send(remote, b"-" * (first.root / remote).stat().st_size)
    second.pull_edition(edition.edition_id)
    assert checksum_file(second.root / local) == checksum_file(first.root / local)
    assert not (second.root / remote).exists()
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(second.root, "editions") == read_tree(first.root, "editions")


def test_different_edition_of_the_same_name_is_an_error(stores: Stores, edition: Edition) -> None:
    first, second = stores
    first.push_edition(edition.edition_id)
    manifest = read_manifest(first.root, edition.edition_id)
    changed = manifest | {"left_out": [{"what": "another head"}]}
    write_record(second.root / edition.folder / "manifest.json", changed)
    for exchange in (second.pull_edition, second.push_edition):
        with pytest.raises(InputError, match=r"differ: .*delete"):
            exchange(edition.edition_id)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"version": 3, "files": {"../../x": {"rows": 1, "sha256": "0"}}}',
        b'{"version": 3, "edition_id": "x", "files": {}}',
    ],
)
def test_damaged_record_in_the_bucket_is_renamed_and_sent_again(
    stores: Stores, edition: Edition, bucket: Bucket, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = stores
    name = f"{edition.folder}/manifest.json"
    first.push_edition(edition.edition_id)
    bucket.send(name, content)
    second.pull_edition(edition.edition_id)
    assert not second.root.exists()
    (message,) = caplog.messages
    assert f"{bucket.address}/{name} is damaged" in message
    assert bucket.read(f"{name}.damaged") == content
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    assert read_tree(first.root, edition.folder) == read_tree(second.root, edition.folder)


@pytest.mark.parametrize("version", ["", '"version": 2, ', '"version": 4, '])
def test_records_of_another_version_in_the_bucket_stay_until_a_newer_version_replaces_them(
    evaluations: Evaluations, edition: Edition, bucket: Bucket, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = evaluations
    store = Store(first.storage)
    store.push_edition(edition.edition_id)
    answers = read_tree(first.root, "responses")
    names = [f"{edition.folder}/manifest.json", f"{first.folder}/run.json"]
    content = f'{{{version}"edition_id": "x", "files": {{}}}}'.encode()
    for name in names:
        bucket.send(name, content)
    changed = next(iter(read_manifest_files(first.root, edition.edition_id)))
    bucket.send(changed, b"-" * (first.root / changed).stat().st_size)
    pull(second)
    for name in names:
        assert f"{bucket.address}/{name} was written by another version" in caplog.text
        assert bucket.read(name) == content
    assert read_tree(second.root, "responses") == answers
    store.push_edition(edition.edition_id)
    share(first)
    is_newer = "4" in version
    assert [bucket.read(name) == content for name in names] == [is_newer, is_newer]
    pull(second)
    if not is_newer:
        assert read_tree(second.root, "editions", "predictions") == read_tree(
            first.root, "editions", "predictions"
        )
    assert not [path for path in bucket.list_objects("") if path.endswith(".damaged")]


def test_files_made_before_the_bucket_was_configured_are_sent_too(hosts: Hosts, evaluated: Path) -> None:
    shutil.copytree(evaluated, hosts[0].root)
    for host in hosts:
        sync_everything(Store(host))
    assert read_tree(hosts[1].root, *KINDS) == read_tree(hosts[0].root, *KINDS) != {}


def test_unsent_answers_are_kept_and_sent_by_the_next_run(
    unasked: Evaluations, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = unasked
    engine, send = CountingEngine(), Bucket.send

    def fail_for_answers(bucket: Bucket, path: str, source: Path | bytes) -> None:
        if path.endswith(".parquet"):
            raise InputError("the storage is unreachable")
        send(bucket, path, source)

    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "send", fail_for_answers)
        with pytest.raises(InputError, match="unreachable"):
            ask_model(first, lambda _: engine)
    keys = first.store.read_settled_keys()
    assert keys
    assert second.store.read().is_empty()
    report = ask_model(first, lambda _: engine)
    assert report.n_asked == report.n_samples - len(keys)
    Store(second.storage).sync_responses(second.model_id)
    assert keys <= second.store.read_settled_keys() == first.store.read_settled_keys()


def test_damaged_answers_in_the_bucket_are_not_used(evaluations: Evaluations, bucket: Bucket) -> None:
    first, second = evaluations
    name, *others = [path.name for path in first.store.list_files()]
    damaged = b"-" * (first.store.folder / name).stat().st_size
    bucket.send(f"responses/{first.model_id}/{name}", damaged)
    Store(second.storage).sync_responses(second.model_id)
    assert [path.name for path in second.store.list_files()] == others
    assert bucket.read(f"responses/{first.model_id}/{name}.damaged") == damaged
    share(first)
    Store(second.storage).sync_responses(second.model_id)
    assert second.store.read().height == len(list_prompts(first))


def test_evaluation_scored_again_replaces_the_old_one(evaluations: Evaluations) -> None:
    first, second = map(read_as_unfinished, evaluations)
    pull(second)
    finish(second, ask_model(second, forbid))
    share(second)
    assert not is_complete(first)
    pull(first)
    assert is_complete(first)
    assert read_tree(first.root, "predictions") == read_tree(second.root, "predictions")


def test_an_evaluation_is_skipped_while_its_files_are_replaced(
    evaluations: Evaluations, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = evaluations
    file = next(path for path in read_tree(first.root, "predictions") if path.endswith(".parquet"))
    bucket.send(file, b"newer than its record")
    pull(second)
    assert not (second.root / second.folder / "run.json").exists()
    changed = read_as_unfinished(first)
    finish(changed, ask_model(changed, forbid))
    store = Store(changed.storage)
    assert bucket.read(f"{changed.folder}/run.json") is not None
    monkeypatch.setattr(store.bucket, "send", Mock(side_effect=InputError("the storage is unreachable")))
    with pytest.raises(InputError, match="unreachable"):
        store.push_evaluation_files(changed.folder)
    assert bucket.read(f"{changed.folder}/run.json") is None


@pytest.mark.parametrize("record", ["run", "model"])
def test_damaged_records_of_an_evaluation_in_the_bucket_are_sent_again(
    evaluations: Evaluations, bucket: Bucket, record: str
) -> None:
    first, second = evaluations
    folder = first.folder if record == "run" else f"responses/{first.model_id}"
    bucket.send(f"{folder}/{record}.json", b'{"files": ')
    pull(second)
    assert bucket.read(f"{folder}/{record}.json") is None
    share(first)
    pull(second)
    assert read_tree(first.root, folder).items() <= read_tree(second.root, folder).items()


def test_failures_of_other_hosts_are_fetched_until_they_are_removed(stores: Stores) -> None:
    one, other = stores
    config = Config(storage=StorageConfig(root=one.root))
    write_failure(one, config, "e", "v1.5", "v1.5 is down")
    # A full disk is a failure of the evaluation, and an interrupt is none.
    for name, error in (("large", OSError(errno.ENOSPC, "full")), ("small", KeyboardInterrupt())):
        with pytest.raises(type(error)), record_failure(one, config, "e", name):
            raise error
    assert has_failure(other, "e", "large")
    sync_everything(other)
    assert read_tree(other.root, "failures") == read_tree(one.root, "failures")
    with record_failure(one, config, "e", "large"):
        """Succeed."""
    sync_everything(other)
    assert list(read_tree(other.root, "failures")) == ["failures/e/v1.5.json"]
    assert not has_failure(other, "e", "large")


GRADES = "reviews/edition/grader.parquet"
PAGE = "report/edition/index.html"


def write_file(store: Store, path: str, content: bytes) -> Path:
    target = store.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def publish(store: Store, content: bytes) -> None:
    with hold_publication(store):
        write_file(store, WAREHOUSE, content)
        write_file(store, PAGE, content)
        if content == b"half":
            raise InputError("the disk is full")


def test_one_publisher_at_a_time_sends_its_results_if_it_succeeds(stores: Stores) -> None:
    first, second = stores
    with ThreadPoolExecutor(1) as pool:
        with hold_publication(first):
            waiting = pool.submit(publish, second, b"second")
            time.sleep(1.5)
            assert not waiting.done()
            write_file(first, WAREHOUSE, b"first")
        waiting.result(timeout=20)
    assert first.bucket is not None
    assert [first.bucket.read(path) for path in (WAREHOUSE, PAGE)] == [b"second"] * 2
    with pytest.raises(InputError, match="full"):
        publish(first, b"half")
    assert first.bucket.read(WAREHOUSE) == b"second"


@pytest.mark.parametrize("path", [GRADES, withdrawal_record("edition")])
def test_what_people_said_last_replaces_the_rest_on_all_hosts(stores: Stores, path: str) -> None:
    first, second = stores
    hour = 3600
    os.utime(write_file(first, path, b"early"), 2 * (time.time() - hour,))
    write_file(first, "reviews/edition/key.json", b"stays on its host")
    sync_everything(first)
    sync_everything(second)
    assert (second.root / path).read_bytes() == b"early"
    assert not (second.root / "reviews/edition/key.json").exists()
    os.utime(write_file(second, path, b"later"), 2 * (time.time() + hour,))
    sync_everything(second)
    sync_everything(first)
    assert [(store.root / path).read_bytes() for store in stores] == [b"later", b"later"]


def test_other_hosts_remove_their_copies_and_do_not_send_them_again(
    stores: Stores, edition: Edition, evaluated: Path
) -> None:
    first, second = stores
    first.push_edition(edition.edition_id)
    second.pull_edition(edition.edition_id)
    content = read_tree(second.root, "editions")
    assert content == read_tree(first.root, "editions")
    remove_edition(first, edition.edition_id)
    assert read_tree(first.root, ".") == {}
    sync_everything(second)
    assert read_tree(second.root, "editions") == {}
    bucket = first.bucket
    assert bucket is not None
    assert list(bucket.list_objects("editions")) == []
    # It is built again, so it is shared again.
    shutil.copytree(evaluated / "editions", first.root / "editions", dirs_exist_ok=True)
    first.push_edition(edition.edition_id)
    sync_everything(second)
    assert read_tree(second.root, "editions") == content


@pytest.mark.parametrize("setting", [None, "answer_only", UNSURE])
def test_an_edition_is_removed_with_its_evaluations(setting: str | None) -> None:
    folder = evaluation_folder("e", "m", setting)
    assert any(folder.startswith(f"{piece}/") for piece in list_pieces("e"))

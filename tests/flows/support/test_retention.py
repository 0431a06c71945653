"""Old scheduled editions are removed, and nothing else."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from flows.support.periods import plan_period
from flows.support.retention import list_old_editions, list_with_same_method, remove_old_editions
from pretexeval.config.file import Config
from pretexeval.storage.layout import withdrawal_record
from pretexeval.storage.store import Store
from pretexeval.storage.withdrawals import withdraw_edition
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tests.support.command import make_rows, write_base
from tests.support.small_bases import write_files

# In the past, because the command keeps the period of today.
MONDAY = datetime(2020, 11, 16, 3, tzinfo=UTC)
MODEL = {"name": "far", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
WEEKS = range(5)
KINDS = ("editions", "predictions", "report")
Built = tuple[Config, list[Edition]]


def configure(folder: Path, n_heads: int = 14, seed: int = 1, **edition: object) -> Config:
    return Config.model_validate(
        {
            "knowledge": write_base(folder / "own.tsv", make_rows("may_treat", n_heads=n_heads)),
            "edition": {"seed": seed, **edition},
            "models": [MODEL],
            "storage": {"root": folder / "data", "keep_editions": 2},
        }
    )


def plan_week(config: Config, week: int) -> Config:
    return plan_period(config, MONDAY + timedelta(weeks=week))


def build(planned: Config) -> Edition:
    """Build the edition of a configuration, with an evaluation and a page of it."""
    edition = plan_edition(planned)
    complete_edition(edition, list(write_files(edition).values()), [])
    for path in (f"predictions/{edition.edition_id}/far-1234", f"report/{edition.edition_id}"):
        (edition.root / path).mkdir(parents=True)
        (edition.root / path / "file").write_bytes(bytes(1000))
    return edition


def list_editions(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "editions").iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A configuration, and the editions of WEEKS, which every test copies."""
    config = configure(tmp_path_factory.mktemp("built"))
    return config, [build(plan_week(config, week)) for week in WEEKS]


def copy_weeks(built: Built, root: Path, n_weeks: int) -> tuple[Config, Path, list[str]]:
    """Copy the editions of the first weeks; return the configuration, its root, and the editions."""
    config, editions = built
    weeks = [edition.edition_id for edition in editions[:n_weeks]]
    for path in (f"{kind}/{week}" for kind in KINDS for week in weeks):
        shutil.copytree(config.storage.root / path, root / path)
    storage = config.storage.model_copy(update={"root": root})
    return config.model_copy(update={"storage": storage}), root, weeks


def test_the_oldest_editions_of_the_schedule_are_removed_and_nothing_else(
    built: Built, tmp_path: Path
) -> None:
    config, root, weeks = copy_weeks(built, tmp_path / "data", 4)
    # By hand, of another seed, with other methods, and of another schedule on the same base.
    planned = [
        config,
        configure(tmp_path, label="anchors"),
        plan_week(configure(tmp_path, seed=2), 0),
        plan_week(configure(tmp_path, methods=("direct",)), 0),
    ]
    others = [build(each).edition_id for each in planned]
    (root / "responses/far-1234").mkdir(parents=True)
    (root / "responses/far-1234/part.parquet").write_bytes(b"answers")
    last = plan_week(config, 3)
    listed = list_old_editions(last)
    assert list(listed.items()) == [(weeks[0], None), (weeks[1], None)]
    assert list_editions(root) == sorted([*weeks, *others])
    # A run for an old week keeps its own edition.
    assert list(list_old_editions(plan_week(config, 0))) == [weeks[1]]
    assert remove_old_editions(last, Store(config.storage)) == listed
    assert list_editions(root) == sorted([*weeks[2:], *others])
    assert not [path for path in root.rglob("*") if set(path.parts) & set(weeks[:2])]
    assert (root / "responses/far-1234/part.parquet").read_bytes() == b"answers"
    assert list_old_editions(last) == {}


def test_editions_that_others_need_are_kept_with_the_reason(built: Built, tmp_path: Path) -> None:
    config, root, weeks = copy_weeks(built, tmp_path / "data", 5)
    for path in (
        f"question_predictions/{weeks[0]}/answer_only/near-1234",
        f"unsure_predictions/{weeks[0]}/true_false_unsure/old-1234",
        f"reviews/{weeks[1]}",
        "locks",
    ):
        (root / path).mkdir(parents=True)
    with FileLock(root / f"locks/{weeks[2]}.far-1234.lock"):
        kept = remove_old_editions(plan_week(config, 4), Store(config.storage))
    assert list(kept.items()) == [
        (weeks[0], "this configuration does not name near-1234, old-1234, which it was evaluated for"),
        (weeks[1], "people reviewed it"),
        (weeks[2], "a model is being evaluated on it"),
    ]
    assert list_editions(root) == sorted(weeks)


def test_a_withdrawn_edition_stays_and_is_not_counted(built: Built, tmp_path: Path) -> None:
    config, root, weeks = copy_weeks(built, tmp_path / "data", 4)
    planned = plan_week(config, 0)
    for week in (weeks[0], weeks[3]):
        withdraw_edition(root, week, "the base was wrong")
    assert list(list_with_same_method(planned)) == weeks[1:3]
    assert list_old_editions(planned) == {}
    (root / withdrawal_record(weeks[3])).unlink()
    assert list(list_old_editions(planned)) == [weeks[1]]


def test_the_newest_results_are_kept_of_each_model_and_all_editions_of_a_period(
    built: Built, tmp_path: Path
) -> None:
    _, root, weeks = copy_weeks(built, tmp_path / "data", 3)
    # The base has changed within the last week.
    config = configure(tmp_path, n_heads=15)
    config = config.model_copy(update={"storage": config.storage.model_copy(update={"keep_editions": 1})})
    planned = plan_week(config, 2)
    weeks.append(build(planned).edition_id)
    for week in (*weeks[:2], weeks[3]):
        (root / f"predictions/{week}/far-1234/run.json").write_text("{}")
    (root / f"failures/{weeks[3]}").mkdir(parents=True)
    (root / f"failures/{weeks[3]}/far.json").write_text("{}")
    assert list(list_old_editions(planned).items()) == [
        (weeks[0], None),
        (weeks[1], "no newer edition has results of far"),
    ]


def test_a_removal_that_was_killed_is_finished(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, root, weeks = copy_weeks(built, tmp_path / "data", 3)
    planned = plan_week(config, 2)
    with monkeypatch.context() as patch:
        moved: list[object] = []

        def move_once(source: Path, target: Path) -> None:
            if moved:
                raise KeyboardInterrupt
            moved.append(source.rename(target))

        patch.setattr("pretexeval.storage.publication.os.replace", move_once)
        with pytest.raises(KeyboardInterrupt):
            remove_old_editions(planned, Store(config.storage))
    # The edition is gone as a whole for every reader, and its evaluation is no longer found.
    assert list_editions(root) == sorted(weeks[1:])
    assert (root / f"predictions/{weeks[0]}").exists()
    remove_old_editions(planned, Store(config.storage))
    assert not (root / f"predictions/{weeks[0]}").exists()
    assert list((root / "removed").iterdir()) == []

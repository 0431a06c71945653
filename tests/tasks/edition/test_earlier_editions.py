"""Editions that were built before their names depended on the gate and on reviews: they stay as they are."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from config.file import Config, load_config
from config.tables import StorageConfig
from flows.support.periods import plan_period
from gate import GATE_VERSION
from primitives.errors import InputError
from prototypes.pool import load_pool
from schemas.stages import ATTEMPTS, STATEMENTS, TRIPLETS, VARIANTS
from storage.files import FileRef, write_stage_file
from storage.layout import edition_folder
from storage.mirror import Mirror
from tasks.asking.writers import Reply
from tasks.edition.buildable import require_buildable, require_earlier_attempts
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import fetch_edition, plan_edition
from tasks.edition.preview import build_statement_frames
from tasks.edition.recipes import RECIPES
from tests.support.command import REPOSITORY
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))
TREATS = make_base(may_treat=make_facts(20, 6))
WRITERS = [{"name": "w", "model": "w", "engine": "openai", "base_url": "http://127.0.0.1:9/v1"}]
REPHRASER = {"kind": "model", "writer": "w", "max_attempts": 1}


def configure_rephraser(root: Path, **edition: Any) -> Config:  # noqa: ANN401
    """Return a configuration of one relation of the starter base, with a model as rephraser."""
    tables: dict[str, Any] = {
        "knowledge": {"relations": ("may_treat",)},
        "edition": edition,
        "rephraser": REPHRASER,
        "writers": WRITERS,
        "storage": StorageConfig(root=root),
    }
    return Config.model_validate(tables)


def configure_own_pool(root: Path) -> Config:
    folder = REPOSITORY / "examples" / "own_base"
    config = load_config(folder / "config.toml")
    knowledge = config.knowledge.model_copy(update={"path": folder / "facts.csv"})
    table = config.edition.model_copy(update={"pool": str(folder / "prototypes.toml")})
    update = {"knowledge": knowledge, "edition": table, "storage": StorageConfig(root=root)}
    return config.model_copy(update=update)


def test_names_of_earlier_versions_are_those_that_they_gave(tmp_path: Path) -> None:
    """The names are from the commit before the gate had a version."""
    own = make_edition(tmp_path, BASE)
    (earlier,) = own.earlier
    assert earlier.edition_id == "own-seed1-20c79fae" != own.edition_id
    tables = {"rephraser": {"kind": "model", "writer": "w"}, "writers": WRITERS}
    reworded = Edition(Config.model_validate(tables), TREATS, load_pool("revised"))
    (earlier,) = reworded.earlier
    assert earlier.edition_id == "own-seed1-3e208893" != reworded.edition_id
    bundled = make_edition(tmp_path, TREATS, load_pool("revised"))
    assert bundled.edition_id == "own-seed1-17dc2416"
    assert bundled.earlier == ()


def test_version_of_the_gate_is_part_of_a_new_edition_alone(tmp_path: Path) -> None:
    edition = plan_edition(configure_rephraser(tmp_path))
    assert edition.configuration["rephraser"]["gate"] == GATE_VERSION
    (earlier,) = edition.earlier
    assert "gate" not in earlier.configuration["rephraser"]


def test_an_edition_without_the_gate_is_never_one_of_an_earlier_version(tmp_path: Path) -> None:
    config = configure_rephraser(tmp_path)
    off = config.rephraser.model_copy(update={"gate": "off", "max_attempts": 3})
    edition = plan_edition(config.model_copy(update={"rephraser": off}))
    described = edition.configuration["rephraser"]
    assert (described["gate"], described["max_attempts"]) == ("off", 1)
    assert edition.edition_id != plan_edition(config).edition_id
    assert edition.earlier == ()


def test_a_complete_earlier_edition_is_planned_again_until_it_gets_another_label(tmp_path: Path) -> None:
    config = configure_own_pool(tmp_path)
    new = plan_edition(config)
    assert new.as_written == new.base.relations
    (earlier,) = new.earlier
    files = write_files(earlier)
    assert plan_edition(config).edition_id == new.edition_id
    complete_edition(earlier, list(files.values()), [])
    planned = fetch_edition(config, Mirror(config.storage))
    assert planned.edition_id == earlier.edition_id
    assert planned.is_whole()
    relation = planned.base.relations[0]
    assert set(build_frames(planned, relation)["samples"]["status"]) == {"accepted"}
    assert set(build_frames(new, relation)["samples"]["status"]) == {"as_is"}
    table = config.edition.model_copy(update={"label": "next"})
    relabelled = plan_edition(config.model_copy(update={"edition": table}))
    assert not relabelled.is_earlier


class CopyingMirror(Mirror):
    """A mirror whose shared storage is the folder of another host."""

    other: Path

    def pull_edition(self, edition_id: str) -> None:
        source = self.other / edition_folder(edition_id)
        if source.exists():
            shutil.copytree(source, self.root / edition_folder(edition_id), dirs_exist_ok=True)


def test_an_earlier_edition_of_another_host_is_fetched(tmp_path: Path) -> None:
    (earlier,) = plan_edition(configure_own_pool(tmp_path / "first")).earlier
    complete_edition(earlier, list(write_files(earlier).values()), [])
    config = configure_own_pool(tmp_path / "second")
    mirror = CopyingMirror(config.storage)
    mirror.other = tmp_path / "first"
    assert plan_edition(config).edition_id != earlier.edition_id
    assert fetch_edition(config, mirror).edition_id == earlier.edition_id


def write_reworded(edition: Edition) -> list[FileRef]:
    """Write an edition whose writer repeats every statement, and return its files."""
    (relation,) = edition.base.relations
    rephraser = edition.rephraser
    assert rephraser is not None
    frames = build_statement_frames(edition, relation)
    replies = {
        rephraser.build_prompt(text, 1, split).key: Reply(text)
        for text, split in frames[STATEMENTS.name].select("statement", "split").iter_rows()
    }
    frames[ATTEMPTS.name] = RECIPES[ATTEMPTS.name].function(
        frames[STATEMENTS.name], frames[TRIPLETS.name], rephraser, lambda _: replies
    )
    stages = (TRIPLETS, VARIANTS, STATEMENTS, ATTEMPTS)
    return [
        write_stage_file(edition.root, edition.path_of(s.name, relation), frames[s.name], s) for s in stages
    ]


def test_lost_attempts_of_an_earlier_version_are_not_judged_by_another_gate(tmp_path: Path) -> None:
    config = configure_rephraser(tmp_path)
    (earlier,) = plan_edition(config).earlier
    refs = write_reworded(earlier)
    complete_edition(earlier, refs, [])
    require_earlier_attempts(plan_edition(config))
    (tmp_path / refs[-1].path).unlink()
    with pytest.raises(InputError, match=r"attempts/may_treat\.parquet was lost or changed, and an earlier"):
        require_buildable(plan_edition(config))


def test_prompts_do_not_depend_on_the_version_of_the_gate(tmp_path: Path) -> None:
    """So the stored replies of an earlier edition are those that the new one needs."""
    edition = plan_edition(configure_rephraser(tmp_path))
    (earlier,) = edition.earlier
    assert edition.rephraser is not None
    assert earlier.rephraser is not None
    keys = [
        one.build_prompt("Text.", attempt, "test").key
        for one in (edition.rephraser, earlier.rephraser)
        for attempt in (1, 2)
    ]
    assert keys[:2] == keys[2:]


def test_edition_of_the_week_that_was_no_series_is_used(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    week = replace(edition, config=plan_period(edition.config, datetime(2026, 11, 16, tzinfo=UTC)))
    earlier = week.earlier[0]
    assert "series" in week.configuration
    assert "series" not in earlier.configuration
    assert earlier.label == week.label == "2026-W47"

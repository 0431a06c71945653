import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from config import Config, EditionConfig, KnowledgeConfig, StorageConfig
from knowledge.base import KnowledgeBase, LeftOut
from prototypes.pool import Pool
from schemas.errors import InputError
from schemas.stages import EDITION_STAGES
from tasks.edition import Edition, complete_edition, list_left_out, plan_edition
from tasks.manifest import read_manifest
from tests.tasks.bases import make_base, make_facts, make_pool, make_prototypes, plan, write_files

REPOSITORY = Path(__file__).parents[2]
BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))
NAMES = ("may_treat", "occurs_after")


def plan_starter(root: Path, seed: int = 1) -> Edition:
    return plan_edition(
        Config(
            knowledge=KnowledgeConfig(relations=NAMES),
            edition=EditionConfig(seed=seed),
            storage=StorageConfig(root=root),
        )
    )


def checksum_stages(edition: Edition) -> dict[str, str]:
    """Path within the edition -> checksum."""
    return {path.removeprefix(edition.folder): ref.sha256 for path, ref in write_files(edition).items()}


def shuffle(base: KnowledgeBase, seed: int) -> KnowledgeBase:
    return KnowledgeBase(base.name, base.triplets.sample(fraction=1, shuffle=True, seed=seed))


def print_checksums(root: str) -> None:
    """What another process says of the same edition, its rows shuffled."""
    edition = plan_starter(Path(root))
    shuffled = Edition(edition.config, shuffle(edition.base, 7), edition.pool)
    print(json.dumps([pl.thread_pool_size(), shuffled.edition_id, checksum_stages(shuffled)]))


def test_the_same_files_in_another_process_with_other_threads_and_rows_shuffled(
    tmp_path: Path,
) -> None:
    edition = plan_starter(tmp_path / "one")
    code = "import sys; from tests.tasks.test_edition import print_checksums as p; p(sys.argv[1])"
    settings = {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "12345", "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "two")],
        env=os.environ | settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    n_threads, edition_id, checksums = json.loads(result.stdout)
    assert n_threads == 1
    assert edition_id == edition.edition_id
    assert len(checksums) == len(NAMES) * len(EDITION_STAGES)
    assert checksums == checksum_stages(edition)


def test_another_seed_is_another_edition(tmp_path: Path) -> None:
    one, two = plan_starter(tmp_path, 1), plan_starter(tmp_path, 2)
    assert one.edition_id != two.edition_id
    first, second = checksum_stages(one), checksum_stages(two)
    assert first.keys() == second.keys()
    assert all(first[path] != second[path] for path in first)


def test_no_other_relation_changes_the_files_of_a_relation(tmp_path: Path) -> None:
    alone = make_base(r=make_facts(20, 6))
    pool = make_pool("r", "s")
    both, one = (checksum_stages(plan(tmp_path / b.name, b, pool)) for b in (BASE, alone))
    assert {path: both[path] for path in one} == one
    assert len(both) == 2 * len(one) == 2 * len(EDITION_STAGES)


def test_the_name_says_base_and_label(tmp_path: Path) -> None:
    seeded, labelled = plan(tmp_path, BASE, seed=7), plan(tmp_path, BASE, seed=7, label="2026-W47")
    assert re.fullmatch(r"own-seed7-[0-9a-f]{8}", seeded.edition_id)
    assert re.fullmatch(r"own-2026-W47-[0-9a-f]{8}", labelled.edition_id)
    assert seeded.folder == f"editions/{seeded.edition_id}"


@pytest.mark.parametrize(
    "table",
    [
        {"seed": 2},
        {"negatives": "uniform"},
        {"heads_per_relation": 10},
        {"methods": ("pretexeval", "direct")},
        {"kind": "none"},
        {"base": make_base(r=make_facts(20, 6))},
        {"base": make_base(r=make_facts(20, 6), s=make_facts(17, 5))},
        {"pool": Pool("own", {"r": make_prototypes("r", "or"), "s": make_prototypes("s")})},
    ],
)
def test_whatever_changes_the_test_set_changes_the_name(tmp_path: Path, table: dict[str, object]) -> None:
    other = plan(tmp_path, **{"base": BASE, **table})
    assert other.edition_id != plan(tmp_path, BASE).edition_id


def test_where_it_lies_and_the_order_of_rows_do_not_change_the_name(tmp_path: Path) -> None:
    edition = plan(tmp_path, BASE)
    assert plan(tmp_path / "elsewhere", shuffle(BASE, 3)).edition_id == edition.edition_id
    more = Pool("own", {**make_pool("r", "s").relations, "t": make_prototypes("t")})
    assert plan(tmp_path, BASE, more).edition_id == edition.edition_id
    assert str(tmp_path) not in json.dumps(edition.configuration)


def test_a_plan_writes_nothing_and_needs_prototypes_for_every_relation(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("head,relation,tail\na,unheard_of,b\n")
    root = tmp_path / "data"
    config = Config(
        knowledge=KnowledgeConfig(name="own", format="table", path=table),
        storage=StorageConfig(root=root),
    )
    with pytest.raises(InputError, match=r"has no prototypes for relation 'unheard_of'"):
        plan_edition(config)
    plan_starter(root)
    assert not root.exists()


def test_the_manifest_completes_an_edition_for_good(tmp_path: Path) -> None:
    edition = plan(tmp_path, BASE, seed=3, methods=("pretexeval", "prototype"))
    assert edition.promised == {}
    files = write_files(edition)
    left_out = [LeftOut("own.csv, line 3", "r: a → b", "repeats another row")]
    assert complete_edition(edition, list(files.values()), left_out) == edition.edition_id
    manifest = read_manifest(tmp_path, edition.edition_id)
    described = {
        key: manifest[key]
        for key in (
            "edition_id",
            "kb",
            "label",
            "seed",
            "negatives",
            "pool",
            "rephraser",
            "methods",
            "n_pairs",
            "configuration",
        )
    }
    assert described == {
        "edition_id": edition.edition_id,
        "kb": "own",
        "label": "seed3",
        "seed": 3,
        "negatives": "matched",
        "pool": "own",
        "rephraser": "reviewed",
        "methods": ["pretexeval", "prototype"],
        "n_pairs": 36,
        "configuration": edition.configuration,
    }
    assert manifest["left_out"] == [vars(left_out[0])]
    assert list(manifest["files"]) == sorted(
        f"{stage.name}/{relation}.parquet" for stage in EDITION_STAGES for relation in "rs"
    )
    assert plan(tmp_path, BASE, seed=3, methods=("pretexeval", "prototype")).promised == files


def test_a_complete_edition_is_never_changed(tmp_path: Path) -> None:
    edition = plan(tmp_path, BASE)
    path = tmp_path / edition.folder / "manifest.json"
    complete_edition(edition, list(write_files(edition).values()), [])
    before = path.read_bytes()
    complete_edition(edition, [], [LeftOut("x", "y", "z")])
    assert path.read_bytes() == before


def test_two_machines_write_the_same_manifest(tmp_path: Path) -> None:
    manifests = []
    for name in ("one", "two"):
        edition = plan(tmp_path / name, BASE)
        complete_edition(edition, list(write_files(edition).values()), [])
        manifests.append((edition.root / edition.folder / "manifest.json").read_bytes())
    assert manifests[0] == manifests[1]


def read_triplets(edition: Edition) -> pl.DataFrame:
    refs = [ref for path, ref in write_files(edition).items() if "/triplets/" in path]
    return pl.concat(pl.read_parquet(edition.root / ref.path) for ref in refs)


def test_what_is_left_out_is_listed(tmp_path: Path) -> None:
    facts = make_facts(20, 5) | {"all": [f"tail {i}" for i in range(5)]}
    kept = make_base(r=facts, s=make_facts(16, 5))
    source = LeftOut("own.csv, line 3", "r: a → b", "repeats another row")
    edition = plan(tmp_path, KnowledgeBase("own", kept.triplets, (source,)))
    assert list_left_out(edition, read_triplets(edition)) == [
        source,
        LeftOut("r", "all", "no negative could be drawn for it"),
    ]
    whole = plan(tmp_path, BASE)
    assert list_left_out(whole, read_triplets(whole)) == []


def test_heads_beyond_the_cap_are_not_left_out(tmp_path: Path) -> None:
    edition = plan(tmp_path, BASE, heads_per_relation=10)
    triplets = read_triplets(edition)
    assert triplets.height == 2 * 2 * 10
    assert list_left_out(edition, triplets) == []

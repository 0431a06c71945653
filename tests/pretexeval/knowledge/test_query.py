"""The result of a query as a knowledge base, and what a query must not do."""

from pathlib import Path

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge import query as knowledge_query
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError

ROWS = "drug|use|disease|n|other\nA|off-label use|B|1|x\nA|indication|C|01|y\nD|indication|E|3|\n"
HIDDEN = "select (400 * random())::int from range(200)"
SELECT = """
select drug as head, use as relation, disease as tail, n as head_id, other in ('y') as also_true,
    [other] as tail_aliases
from read_csv($path, delim = '|', header = true, auto_detect = false, columns = {
    drug: 'varchar', use: 'varchar', disease: 'varchar', n: 'varchar', other: 'varchar'
})
"""


def read(folder: Path, select: str, path: Path | None = None, *relations: str) -> KnowledgeBase:
    data = folder / "data.rrf"
    data.write_text(ROWS, encoding="utf-8")
    query = folder / "query.sql"
    query.write_text(select, encoding="utf-8")
    chosen = relations or ("indication",)
    return read_knowledge_base(
        KnowledgeConfig(name="own", format="sql", path=path or data, query=query, relations=chosen)
    )


def read_error(folder: Path, select: str, *relations: str) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, select, None, *relations)
    return str(caught.value)


def test_what_does_not_fit_into_memory_goes_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # DuckDB's default folder is .tmp in the current one, where a file now is in its way.
    (tmp_path / ".tmp").touch()
    monkeypatch.chdir(tmp_path)
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spilled))
    settings = {"memory_limit": "'40MB'", "threads": "1"} | knowledge_query.SETTINGS
    monkeypatch.setattr(knowledge_query, "SETTINGS", settings)
    select = """
        select 'head ' || md5(i::varchar) as head, 'indication' as relation, 'tail ' || i % 7 as tail
        from range(400000) as t(i) where $path != '' order by md5(i::varchar) limit 399999
    """
    assert read(tmp_path, select).triplets.height == 399_999
    assert not [*spilled.iterdir()]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("selekt 1", "syntax error"),
        (f"{SELECT}; select 1", "has to be one SELECT"),
        ("copy (select 1) to 'here'", "has to be one SELECT"),
        ("select 1 as head", "has the parameters none: write $path"),
        (f"select * from ({SELECT}) where $other", "has the parameters $other, $path: write $path"),
        ("select 'a' as head, $path as tail", "query.sql has no column relation; it has head, tail"),
        (f"select * replace (3.5 as head_id) from ({SELECT})", "column head_id is of type Decimal"),
        (f"select * from ({SELECT}), read_text('/etc/hostname')", "may read only"),
        (f"select * from ({SELECT}), glob('/etc/*')", "may read only"),
        (f"select * from ({SELECT}), read_csv($path || '/../query.sql')", "may read only"),
        (f"select * from ({SELECT}), read_csv('http://127.0.0.1:9/x.csv')", "may read only"),
        (f"select * from ({SELECT}), sources", "Table with name sources does not exist"),
        (f"select * from ({SELECT}) where also_true > 'x'", "Could not convert"),
    ],
)
def test_a_query_that_cannot_be_used_is_an_error(tmp_path: Path, select: str, expected: str) -> None:
    error = read_error(tmp_path, select)
    assert expected in error
    assert str(tmp_path / "query.sql") in error


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("using sample 50%", "query.sql uses a sample without `repeatable`, so its rows change"),
        ("using sample reservoir(50 rows) repeatable (1)", ""),
        ("where random() < 0.5", "query.sql uses random, so its rows change"),
        ("order by UUID() limit 200", "query.sql uses uuid, so its rows change"),
        ("where current_date > '2026-01-01'", "query.sql uses current_date, so its rows change"),
        ("where today() > '2026-01-01'", "query.sql uses today, so its rows change"),
        (f"where i in (from query('{HIDDEN}'))", "query.sql selects other rows every time it runs"),
        ('where hash(head) % 2 = 0 and head <> \'now() "function_name":"random"\'', ""),
        ("order by md5(head) limit 200", ""),
    ],
)
def test_a_query_whose_rows_change_is_refused(tmp_path: Path, part: str, expected: str) -> None:
    rows = "select i, 'head ' || i as head, 'indication' as relation, 'b' as tail from range(400) as t(i)"
    select = f"select * from ({rows} where $path != '') {part}"
    if expected:
        assert expected in read_error(tmp_path, select)
    else:
        assert read(tmp_path, select).checksum_relation("indication")


def test_a_damaged_file_is_an_error_with_its_line(tmp_path: Path) -> None:
    data = tmp_path / "bad.csv"
    data.write_text("drug|use|disease|n|other\nA|indication|C|1|y\nB|indication\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.csv: .*Line: 3 .*B\|indication"):
        read(tmp_path, SELECT, data)


def test_since_is_the_age_of_a_fact_and_its_first_value_counts(tmp_path: Path) -> None:
    since = "case n when '01' then '2020' when '7' then ' 2019 ' else null end as since"
    rows = f"select * from ({SELECT}) union all select 'A', 'indication', 'C', '7', false, []"
    base = read(tmp_path, f"select *, {since.replace('case n', 'case head_id')} from ({rows})")
    assert base.releases == ("2019",)
    ages = base.triplets.select("head", "head_id", "first_release").rows()
    assert ages == [("A", "01", "2019"), ("A", "7", "2019"), ("D", "3", "new")]
    plain = read(tmp_path, f"select *, null as since from ({rows})")
    assert plain.releases == ()
    assert base.checksum_relation("indication") == plain.checksum_relation("indication")

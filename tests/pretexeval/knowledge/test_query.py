"""The result of a query as a knowledge base, and what a query must not do."""

from pathlib import Path

import pytest

from pretexeval.knowledge import query as knowledge_query
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.primitives.errors import InputError
from tests.pretexeval.knowledge.own_base import read_error, read_own, write

ROWS = "drug|use|disease|n|other\nA|off-label use|B|1|x\nA|indication|C|01|y\nD|indication|E|3|\n"
HIDDEN = "select (400 * random())::int from range(200)"
SELECT = """
select drug as head, use as relation, disease as tail, n as head_id, other in ('y') as also_true,
    [other] as tail_aliases
from read_csv($path, delim = '|', header = true, auto_detect = false, columns = {
    drug: 'varchar', use: 'varchar', disease: 'varchar', n: 'varchar', other: 'varchar'
})
"""
FROM = f"select * from ({SELECT})"
MANY = """
select i, 'head ' || i as head, 'indication' as relation, 'b' as tail from range(400) t(i) where $path != ''
"""


def read(folder: Path, select: str, rows: str = ROWS) -> KnowledgeBase:
    query, path = write(folder / "query.sql", select), write(folder / "data.rrf", rows)
    return read_own(path, format="sql", query=query, relations=["indication"])


def test_what_does_not_fit_into_memory_goes_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # DuckDB's default folder is .tmp in the current one, where a file now is in its way.
    (tmp_path / ".tmp").touch()
    monkeypatch.chdir(tmp_path)
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spilled))
    settings = {"memory_limit": "'30MB'", "threads": "1"} | knowledge_query.SETTINGS
    monkeypatch.setattr(knowledge_query, "SETTINGS", settings)
    select = """
        select 'head ' || md5(i::varchar) as head, 'indication' as relation, 'tail ' || i % 7 as tail
        from range(200000) as t(i) where $path != '' order by md5(i::varchar) limit 199999
    """
    assert read(tmp_path, select).triplets.height == 199_999
    assert not [*spilled.iterdir()]


def test_a_query_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    for select, expected in {
        "selekt 1": "syntax error",
        f"{SELECT}; select 1": "has to be one SELECT",
        "copy (select 1) to 'here'": "has to be one SELECT",
        "select 1 as head": "has the parameters none: write $path",
        f"{FROM} where $other": "has the parameters $other, $path: write $path",
        "select 'a' as head, $path as tail": "query.sql has no column relation; it has head, tail",
        f"select * replace (3.5 as head_id) from ({SELECT})": "column head_id is of type Decimal",
        f"{FROM}, read_text('/etc/hostname')": "may read only",
        f"{FROM}, read_csv($path || '/../query.sql')": "may read only",
        "from read_csv($path || '/*edges.tsv')": "set path to the folder, if the query reads several files",
        f"{FROM}, sources": "Table with name sources does not exist",
        f"{FROM} where also_true > 'x'": "Could not convert",
        f"select *, head_id = '01' as negated from ({SELECT})": "A indication C: negated is 'true', so",
        "from $path": "write read_csv($path)",
        "from read_xlsx($path)": (
            "in the excel extension: a query cannot load it; read a workbook with format"
        ),
        "from read_csv($path, encoding = 'gb18030')": (
            'set encoding in layout with format = "table" for others'
        ),
        # Its rows change every time it runs.
        f"select * from ({MANY}) using sample 50%": "uses a sample without `repeatable`, so its rows change",
        f"{MANY} and random() < 0.5": "query.sql uses random, so its rows change",
        f"{MANY} and current_date > '2026-01-01'": "query.sql uses current_date, so its rows change",
        f"{MANY} and i in (from query('{HIDDEN}'))": "query.sql selects other rows every time it runs",
    }.items():
        with pytest.raises(InputError) as caught:
            read(tmp_path, select)
        assert expected in str(caught.value), select
        assert str(tmp_path / "query.sql") in str(caught.value)


def test_a_query_that_reads_a_folder_as_a_file_is_told_how(tmp_path: Path) -> None:
    query = write(tmp_path / "query.sql", "select head, relation, tail from read_parquet($path)")
    (tmp_path / "base").mkdir()
    assert "write $path || '/*.parquet'" in read_error(tmp_path / "base", format="sql", query=query)


def test_a_query_that_repeats_its_choice_of_rows_is_accepted(tmp_path: Path) -> None:
    for select in (
        f"select * from ({MANY}) using sample reservoir(50 rows) repeatable (1)",
        f'{MANY} and hash(head) % 2 = 0 and head <> \'now() "function_name":"random"\'',
        f"{MANY} order by md5(head) limit 200",
    ):
        assert read(tmp_path, select).checksum_relation("indication")


def test_letters_outside_ascii_and_a_final_semicolon_are_accepted(tmp_path: Path) -> None:
    tail = "replace(tail, 'C', '咳;🙂 à l’effort') as tail"
    ends = ["", ";", " ; -- é;\n", ";;\n/* 痛; */ ;", "\n-- é; ;", " where head <> 'é;' ;", ' as "é;";']
    for end in (*ends, " as ü\n;\n"):
        base = read(tmp_path, f"-- Größe; 症状\nselect * replace ({tail}) from ({SELECT}){end}")
        assert [*base.triplets["tail"]] == ["咳;🙂 à l’effort", "E"], end


def test_columns_in_capitals_are_found(tmp_path: Path) -> None:
    select = SELECT.replace("as head,", 'as "HEAD",').replace("as relation", 'as "Relation "')
    assert read(tmp_path, select).triplets["head"].to_list() == ["A", "D"]


def test_a_damaged_file_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data\.rrf: .*Line: 3 .*B\|indication"):
        read(tmp_path, SELECT, "drug|use|disease|n|other\nA|indication|C|1|y\nB|indication\n")


def test_since_is_the_age_of_a_fact_and_its_first_value_counts(tmp_path: Path) -> None:
    since = "case head_id when '01' then '2020' when '7' then ' 2019 ' else null end as since"
    rows = f"{FROM} union all select 'A', 'indication', 'C', '7', false, []"
    base = read(tmp_path, f"select *, {since} from ({rows})")
    assert base.releases == ("2019",)
    ages = base.triplets.select("head", "head_id", "first_release").rows()
    assert ages == [("A", "01", "2019"), ("A", "7", "2019"), ("D", "3", "new")]
    plain = read(tmp_path, f"select *, null as since from ({rows})")
    assert plain.releases == ()
    assert base.checksum_relation("indication") == plain.checksum_relation("indication")

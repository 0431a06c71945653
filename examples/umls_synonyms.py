"""Write synonyms of MedQA's answers from UMLS, as `synonyms` of `[questions]` takes them.

    python examples/umls_synonyms.py META data_clean/questions/US/test.jsonl synonyms.tsv

META is the folder of a release of the UMLS Metathesaurus (www.nlm.nih.gov/research/umls; its licence is
free). Only MRCONSO.RRF is read. A name is taken if it is an English name of the only concept that the answer
names. Left out are names that only order the same words in another way ("Pili, adhesive"), or are a plural of
them, and names with brackets or commas, which no exam would print. Read the file before you use it: a concept
may be wider than an answer.
"""

import sys

import duckdb

SYNONYMS = r"""
with concepts as (
    select
        cui,
        str as name,
        list_sort(list_distinct(string_split(
            trim(regexp_replace(regexp_replace(lower(str), '[^\p{L}\p{N}]+', ' ', 'g'), 's\b', '', 'g')), ' '
        ))) as words,
        trim(regexp_replace(lower(str), '[^\p{L}\p{N}]+', ' ', 'g')) as spelling
    from read_csv(
        $mrconso, header = false, auto_detect = false, delim = '|', quote = '', escape = '',
        columns = {
            cui: 'varchar', lat: 'varchar', ts: 'varchar', lui: 'varchar', stt: 'varchar', sui: 'varchar',
            ispref: 'varchar', aui: 'varchar', saui: 'varchar', scui: 'varchar', sdui: 'varchar',
            sab: 'varchar', tty: 'varchar', code: 'varchar', str: 'varchar', srl: 'varchar',
            suppress: 'varchar', cvf: 'varchar', line_end: 'varchar'
        }
    )
    where lat = 'ENG' and suppress = 'N'
),

answers as (
    select distinct answer, trim(regexp_replace(lower(answer), '[^\p{L}\p{N}]+', ' ', 'g')) as spelling
    from read_json($medqa, columns = {answer: 'varchar'})
),

named as (
    select answer, any_value(words) as words, min(cui) as answer_id
    from answers
    inner join concepts using (spelling)
    group by answer
    having min(cui) = max(cui)
)

select answer, arg_min(name, (upper(name) = name, name)) as synonym, answer_id
from named
inner join concepts on named.answer_id = concepts.cui
where concepts.words != named.words and not regexp_matches(name, '[][(){}<>,;]')
group by answer, answer_id, concepts.words
order by answer, synonym
"""


def write_synonyms(meta: str, medqa: str, out: str) -> None:
    """Write a tab-separated table with the columns answer, synonym and answer_id (the CUI)."""
    found = duckdb.sql(SYNONYMS, params={"mrconso": f"{meta}/MRCONSO.RRF", "medqa": medqa})
    assert found is not None  # because it is a SELECT
    found.write_csv(out, sep="\t", header=True)


if __name__ == "__main__":
    write_synonyms(*sys.argv[1:])

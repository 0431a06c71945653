-- Wikidata: path is the CSV that query.wikidata.org gives for this query. Licence: CC0 1.0.
--
--   SELECT ?head ?headLabel ?relation ?tail ?tailLabel WHERE {
--     VALUES (?property ?relation) {
--       (wdt:P2175 "may_treat") (wdt:P780 "disease_may_have_finding")
--       (wdt:P769 "has_significant_drug_interaction") (wdt:P828 "due_to")
--     }
--     ?head ?property ?tail .
--     SERVICE wikibase:label { bd:serviceParam wikibase:language "en". }
--   }
--
-- The variables ?head and ?tail are optional. Items without an English label, whose label is then their number, are left
-- out. An interaction of two drugs is true in the other direction as well, but only tested as it is stated.
with rows as (
    select null as head, null as tail
    where false
    union all by name
    select *
    from read_csv($path, header = true, delim = ',', quote = '"', escape = '"', all_varchar = true)
),

stated as (
    select
        "headLabel" as head,
        relation,
        "tailLabel" as tail,
        parse_filename(rows.head) as head_id,
        parse_filename(rows.tail) as tail_id
    from rows
    where not regexp_full_match("headLabel", 'Q\d+') and not regexp_full_match("tailLabel", 'Q\d+')
)

select head, relation, tail, head_id, tail_id, false as also_true
from stated
union all
select tail, relation, head, tail_id, head_id, true
from stated
where relation = 'has_significant_drug_interaction'

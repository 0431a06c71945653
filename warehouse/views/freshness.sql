-- Grain: one row per edition and method.
-- How much of an edition no earlier edition of its base has used; anchors do not count. The editions are in the order of
-- their names, as in edition_drift; names contain the ISO week if a schedule builds them. n_texts: different
-- texts of the test samples; new_text_rate: the share of them that no earlier edition contains, by any method.
-- n_facts: true test triplets; new_fact_rate: the share of them, by the names of head and tail, that are not
-- among the true test triplets of an earlier edition. The first edition of a base is new as a whole.
create or replace view freshness as
with of_base as (
    select edition_id, kb, count(*) over (partition by kb order by edition_id) - 1 as n_earlier_editions
    from editions
    where not is_anchors and edition_id in (select edition_id from samples)
),

texts as (
    select distinct of_base.kb, samples.edition_id, samples.method, samples.text
    from samples
    inner join of_base using (edition_id)
    where samples.split = 'test'
),

text_counts as (
    select
        edition_id,
        method,
        count(*) as n_texts,
        count(*) filter (edition_id = first_edition_id) as n_new_texts
    from (select *, min(edition_id) over (partition by kb, text) as first_edition_id from texts)
    group by edition_id, method
),

facts as (
    select distinct of_base.kb, triplets.edition_id, triplets.relation, triplets.head, triplets.tail
    from triplets
    inner join of_base using (edition_id)
    where triplets.split = 'test' and triplets.is_positive
),

fact_counts as (
    select
        edition_id,
        count(*) as n_facts,
        count(*) filter (edition_id = first_edition_id) as n_new_facts
    from (
        select *, min(edition_id) over (partition by kb, relation, head, tail) as first_edition_id
        from facts
    )
    group by edition_id
)

select
    edition_id,
    of_base.kb,
    text_counts.method,
    of_base.n_earlier_editions,
    text_counts.n_texts,
    text_counts.n_new_texts,
    text_counts.n_new_texts / text_counts.n_texts as new_text_rate,
    fact_counts.n_facts,
    fact_counts.n_new_facts,
    fact_counts.n_new_facts / fact_counts.n_facts as new_fact_rate
from of_base
inner join text_counts using (edition_id)
inner join fact_counts using (edition_id)
order by kb, edition_id, method

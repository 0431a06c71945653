-- Grain: one row per edition and method.
-- The share of an edition that no earlier edition of its base has used; anchors do not count. An edition of a schedule is
-- earlier if its period began before (period_start). An edition without a period comes after all that have one, and
-- is earlier than another of its kind if its seed is smaller. Editions of the same first day, or of the same seed, are
-- not compared, because neither was before the other. An edition with no earlier one is new as a whole.
-- Texts are compared across all methods, facts by the names of head and tail.
-- A table, because it reads every text: 3 s of one core for twelve weekly editions of 272,000 samples. Texts and
-- facts are compared by their hashes of 64 bits, which take less memory.
create table freshness as
with of_base as (
    select
        edition_id, kb,
        rank() over (
            partition by kb order by period_start nulls last, case when period_start is null then seed end nulls last
        ) - 1 as n_earlier_editions
    from editions
    where not is_anchors and edition_id in (select edition_id from samples)
),

-- The texts by each method, and the facts, whose method is null.
tested as (
    select distinct kb, n_earlier_editions, edition_id, samples.method, hash(samples.text) as item
    from samples
    inner join of_base using (edition_id)
    where samples.split = 'test'
    union all
    select distinct kb, n_earlier_editions, edition_id, null, hash(triplets.relation, triplets.head, triplets.tail)
    from triplets
    inner join of_base using (edition_id)
    where triplets.split = 'test' and triplets.is_positive
),

placed as (
    select *, min(n_earlier_editions) over (partition by kb, method is null, item) as n_before_first from tested
),

counted as materialized (
    select edition_id, method, count(*) as n, count(*) filter (n_earlier_editions = n_before_first) as n_new
    from placed
    group by edition_id, method
)

select
    edition_id, of_base.kb, texts.method, of_base.n_earlier_editions,
    texts.n as n_texts, texts.n_new as n_new_texts, texts.n_new / texts.n as new_text_rate,
    facts.n as n_facts, facts.n_new as n_new_facts, facts.n_new / facts.n as new_fact_rate
from of_base
inner join (from counted where method is not null) as texts using (edition_id)
inner join (from counted where method is null) as facts using (edition_id)
order by kb, edition_id, method

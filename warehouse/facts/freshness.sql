-- Grain: one row per edition and method.
-- The share of an edition that no earlier edition of its base has used; anchors do not count. Editions are in the order
-- of the list of editions (report/edition_rows.py): an edition of a schedule is dated by its period (period_start), and
-- any other by the end of its first evaluation. Of two of the same day, the one that was evaluated first is earlier, and
-- then the one whose name sorts first. An edition that no model was asked comes last, because no model has seen it. A
-- withdrawn edition has no evaluation in the tables, so it is dated by its withdrawal.
-- An edition with no earlier one is new as a whole.
-- Texts are compared across all methods, facts by the names of head and tail.
-- A table, because it reads every text: 3 s of one core for twelve weekly editions of 272,000 samples. Texts and
-- facts are compared by their hashes of 64 bits, which take less memory.
create table freshness as
with asked as (
    select edition_id, min(finished_at) as asked_at
    from runs
    where period is null
    group by edition_id
),

dated as (
    select edition_id, kb, period_start, coalesce(asked_at, withdrawn_at) as asked_at
    from editions
    left join asked using (edition_id)
    where not is_anchors and edition_id in (select edition_id from samples)
),

of_base as (
    select
        edition_id, kb,
        row_number() over (
            partition by kb
            order by coalesce(period_start, asked_at::date) nulls last, asked_at nulls last, edition_id
        ) - 1 as n_earlier_editions
    from dated
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

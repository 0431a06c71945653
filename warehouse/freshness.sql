-- Grain: one row per edition and method.
-- How much of an edition no earlier edition of its base has used; anchors do not count. An edition of a schedule is
-- earlier if its period began before (period_start). An edition without a period comes after all that have one, and
-- is earlier than another of its kind if its seed is smaller. Editions of the same first day, or of the same seed, are
-- not compared, because neither was before the other. An edition with no earlier one is new as a whole.
-- n_texts: different texts of the test samples; new_text_rate: the share of them that no earlier edition contains,
-- by any method. n_facts: true test triplets; new_fact_rate: the share of them, by the names of head and tail, that
-- are not among the true test triplets of an earlier edition.
-- A table, because it reads every text: 3 s of one core for twelve weekly editions of 272,000 samples. Texts and
-- facts are compared by their hashes of 64 bits, which take less memory.
create table freshness as
with of_base as (
    select
        edition_id,
        kb,
        rank() over (
            partition by kb
            order by period_start nulls last, case when period_start is null then seed end nulls last
        ) - 1 as n_earlier_editions
    from editions
    where not is_anchors and edition_id in (select edition_id from samples)
),

texts as (
    select distinct
        of_base.kb,
        of_base.n_earlier_editions,
        samples.edition_id,
        samples.method,
        hash(samples.text) as text
    from samples
    inner join of_base using (edition_id)
    where samples.split = 'test'
),

text_counts as (
    select
        edition_id,
        method,
        count(*) as n_texts,
        count(*) filter (n_earlier_editions = n_before_first) as n_new_texts
    from (select *, min(n_earlier_editions) over (partition by kb, text) as n_before_first from texts)
    group by edition_id, method
),

facts as (
    select distinct
        of_base.kb,
        of_base.n_earlier_editions,
        triplets.edition_id,
        hash(triplets.relation, triplets.head, triplets.tail) as fact
    from triplets
    inner join of_base using (edition_id)
    where triplets.split = 'test' and triplets.is_positive
),

fact_counts as (
    select
        edition_id,
        count(*) as n_facts,
        count(*) filter (n_earlier_editions = n_before_first) as n_new_facts
    from (select *, min(n_earlier_editions) over (partition by kb, fact) as n_before_first from facts)
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

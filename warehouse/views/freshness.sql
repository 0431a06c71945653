-- Grain: one row per edition and method.
-- How much of an edition no earlier edition of its base has used; anchors do not count. An edition of a schedule is
-- earlier if its period began before (period_start). An edition without a period comes after all that have one, and
-- is earlier than another of its kind if its seed is smaller. Editions of the same first day, or of the same seed, are
-- not compared, because neither was before the other. An edition with no earlier one is new as a whole.
-- n_texts: different texts of the test samples; new_text_rate: the share of them that no earlier edition contains,
-- by any method. n_facts: true test triplets; new_fact_rate: the share of them, by the names of head and tail, that
-- are not among the true test triplets of an earlier edition.
create or replace view freshness as
select
    edition_id,
    kb,
    method,
    n_earlier_editions,
    n_texts,
    n_new_texts,
    new_text_rate,
    n_facts,
    n_new_facts,
    new_fact_rate
from freshness_counts
order by kb, edition_id, method

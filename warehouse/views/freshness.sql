-- Grain: one row per edition and method.
-- How much of an edition no earlier edition of its base has used; anchors do not count. The editions are in the order
-- of period_start, those without one last; then of their names, as in edition_drift. n_texts: different
-- texts of the test samples; new_text_rate: the share of them that no earlier edition contains, by any method.
-- n_facts: true test triplets; new_fact_rate: the share of them, by the names of head and tail, that are not
-- among the true test triplets of an earlier edition. The first edition of a base is new as a whole.
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

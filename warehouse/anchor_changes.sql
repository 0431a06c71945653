-- Grain: one row per model's answers to anchors in two periods (run, other_run), as paired_scores compares them.
-- How many answers and pairs changed. True, false and none are three different answers; n_answers: those to samples
-- that have a response in both periods. changed: what the interval of the share of changed answers needs (observe).
create or replace view storage.anchor_changes as
with compared as (
    select distinct run, other_run from paired_scores where comparison = 'anchors'
),

by_pair as (
    select
        compared.run, other_run,
        count(*) filter (not one.is_failed and not other.is_failed)::integer as n_answers,
        count(*) filter (
            not one.is_failed and not other.is_failed
            and case when not one.is_unanswered then one.prediction end
            is distinct from case when not other.is_unanswered then other.prediction end
        )::integer as n_changed,
        count(*) filter (one.is_correct and other.is_correct is not null) as n_right,
        count(*) filter (other.is_correct and one.is_correct is not null) as n_other_right
    from compared
    inner join sample_scores as one using (run)
    inner join sample_scores as other
        on other_run = other.run
        and (one.pair_id, one.is_positive, one.slot) = (other.pair_id, other.is_positive, other.slot)
    group by compared.run, other_run, one.pair_id
)

select
    run, other_run,
    sum(n_answers)::bigint as n_answers, sum(n_changed)::bigint as n_changed,
    observe(n_changed, n_answers) as changed,
    count(*) filter (n_answers > 0) as n_answered_pairs, count(*) filter (n_changed > 0) as n_changed_pairs,
    count(*) filter (n_right > n_other_right) as n_worse_pairs,
    count(*) filter (n_right < n_other_right) as n_better_pairs
from by_pair
group by run, other_run

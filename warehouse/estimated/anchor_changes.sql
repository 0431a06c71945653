-- Grain: one row per model's answers to anchors in two periods (run, other_run), as differences compares them.
-- How many answers and pairs changed. True, false and none are three different answers; n_answers: those to samples
-- that have a response in both periods. change_rate: n_changed / n_answers, with its 95 % interval (the pair is the
-- cluster). n_worse_pairs, n_better_pairs: pairs of which more samples are right in the earlier or the later period.
create or replace temp table by_pair as
with compared as (
    select distinct run, other_run from differences where comparison = 'anchors'
)

select
    compared.run, compared.other_run, one.pair_id,
    count(*) filter (not one.is_failed and not other.is_failed)::integer as n_answers,
    count(*) filter (
        not one.is_failed and not other.is_failed
        and case when not one.is_unanswered then one.prediction end
        is distinct from case when not other.is_unanswered then other.prediction end
    )::integer as n_changed,
    count(*) filter (one.is_correct and other.is_correct is not null) as n_right,
    count(*) filter (other.is_correct and one.is_correct is not null) as n_other_right
from compared
inner join sample_scores as one on compared.run = one.run
inner join sample_scores as other
    on compared.other_run = other.run
    and (one.pair_id, one.is_positive, one.slot) = (other.pair_id, other.is_positive, other.slot)
group by compared.run, compared.other_run, one.pair_id;

create or replace temp table observations as
select
    hash(run, other_run) as key, 'changed' as measure,
    hash(pair_id) as head_cluster, hash(pair_id) as positive_tail_cluster, hash(pair_id) as negative_tail_cluster,
    n_changed as gained, n_answers as n
from by_pair;

-- The estimates of these observations are computed here (estimation.py).
create table anchor_changes as
with counted as (
    select
        run, other_run,
        sum(n_answers)::bigint as n_answers, sum(n_changed)::bigint as n_changed,
        count(*) filter (n_answers > 0) as n_answered_pairs, count(*) filter (n_changed > 0) as n_changed_pairs,
        count(*) filter (n_right > n_other_right) as n_worse_pairs,
        count(*) filter (n_right < n_other_right) as n_better_pairs
    from by_pair
    group by run, other_run
)

select
    counted.*,
    share as change_rate, fixed_base_ci_low as change_rate_ci_low, fixed_base_ci_high as change_rate_ci_high
from counted
left join estimates on estimates.key = hash(run, other_run)

-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- The samples of a pair added up, with its clusters (pair_clusters) and what the best shortcut makes of it.
-- n_…_weighed: the samples with both log-probabilities; n_…_likelier: those of them of which the answer with the higher
-- log-probability is right. A tie is not right.
-- is_complete: all 2k samples are graded. Only then can the pair count in mastery: it is mastered if all are right.
-- Likewise a triplet counts in the joint accuracy only if all its k samples are graded.

-- One row per run, part of its samples and pair. `samples` names a query with the columns of sample_scores, the part
-- (grouping_by, group_name, group_position) and k. part_scores counts the samples of its parts with it, too.
create macro count_samples(samples) as table
select
    run, grouping_by, group_name, pair_id,
    any_value(columns([
        'edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'relation', 'group_position', 'k'
    ])),
    count(*)::integer as n_asked,
    count(*) filter (is_failed)::integer as n_errors,
    count(*) filter (is_unanswered)::integer as n_no_answer,
    count(*) filter (is_unfinished)::integer as n_unfinished,
    count(*) filter (is_refused)::integer as n_refused,
    count(*) filter (prediction and not is_unanswered)::integer as n_answered_true,
    count(*) filter ((prediction = label) = is_positive and not is_unanswered)::integer as n_affirmed,
    count(is_correct) filter (is_positive)::integer as n_positive,
    count(is_correct) filter (not is_positive)::integer as n_negative,
    count(*) filter (is_correct and is_positive)::integer as n_positive_right,
    count(*) filter (is_correct and not is_positive)::integer as n_negative_right,
    count(margin) filter (is_positive)::integer as n_positive_weighed,
    count(margin) filter (not is_positive)::integer as n_negative_weighed,
    count(*) filter (is_positive and margin <> 0 and (margin > 0) = label)::integer as n_positive_likelier,
    count(*) filter (not is_positive and margin <> 0 and (margin > 0) = label)::integer as n_negative_likelier,
    max(p_affirmed) - min(p_affirmed) as probability_range,
    coalesce(list(transformation order by slot) filter (not is_correct and is_positive), []) as wrong_of_true,
    coalesce(list(transformation order by slot) filter (not is_correct and not is_positive), []) as wrong_of_false
from (
    select
        *, 1 / (1 + exp(-margin)) as p_true, case when label = is_positive then p_true else 1 - p_true end as p_affirmed
    from query_table(samples)
)
group by run, grouping_by, group_name, pair_id;

create table pair_scores as
with samples as (
    select
        *, 'edition' as grouping_by, '' as group_name, 1 as group_position,
        samples_per_triplet(method)::integer as k
    from sample_scores
    where period is null
)

select
    counted.* exclude (grouping_by, group_name, group_position, probability_range),
    n_positive = k and n_negative = k as is_complete,
    is_complete and n_positive_right = k and n_negative_right = k as is_mastered,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    shortcut, shortcuts.mastery as shortcut_mastery
from count_samples('samples') as counted
inner join pair_clusters using (edition_id, pair_id)
inner join (from shortcut_scores where baseline = 'best') as shortcuts using (edition_id, method, pair_id)
order by edition_id, model_id, method, scoring_policy, repeat, relation, pair_id

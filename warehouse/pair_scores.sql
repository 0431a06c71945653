-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- The samples of a pair added up, with its clusters (pair_clusters) and what the best shortcut makes of it.
-- k: samples of a complete triplet. n_affirmed: answers that affirm the fact: True to a statement of it, or False to its
-- denial. n_positive, n_negative: the graded samples of the true and of the false triplet; n_positive_right,
-- n_negative_right: those of them that are right. n_positive_weighed, n_negative_weighed: the samples with both
-- log-probabilities; n_positive_likelier, n_negative_likelier: those of them of which the answer with the higher
-- log-probability is right. A tie is not right.
-- is_complete: all 2k samples are graded. Only then can the pair count in mastery: it is mastered if all are right.
-- Likewise a triplet counts in the joint accuracy only if all its k samples are graded.
-- wrong_of_true, wrong_of_false: the transformations that went wrong on the true and on the false triplet.
create table pair_scores as
with counted as (
    select
        run,
        pair_id,
        any_value(columns([
            'edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'relation', 'fact'
        ])),
        samples_per_triplet(any_value(method))::integer as k,
        count(*)::integer as n_asked,
        count(*) filter (is_failed)::integer as n_errors,
        count(*) filter (is_unanswered)::integer as n_no_answer,
        count(*) filter (is_unfinished)::integer as n_unfinished,
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
        list(transformation order by slot) filter (not is_correct and is_positive) as wrong_of_true,
        list(transformation order by slot) filter (not is_correct and not is_positive) as wrong_of_false
    from sample_scores
    semi join storage.scope using (edition_id, model_id)
    where period is null
    group by run, pair_id
)

select
    counted.run,
    counted.edition_id,
    counted.model_id,
    counted.model,
    counted.method,
    counted.scoring_policy,
    counted.repeat,
    counted.relation,
    counted.pair_id,
    counted.fact,
    counted.k,
    counted.n_asked,
    counted.n_errors,
    counted.n_no_answer,
    counted.n_unfinished,
    counted.n_answered_true,
    counted.n_affirmed,
    counted.n_positive,
    counted.n_negative,
    counted.n_positive_right,
    counted.n_negative_right,
    counted.n_positive_weighed,
    counted.n_negative_weighed,
    counted.n_positive_likelier,
    counted.n_negative_likelier,
    counted.n_positive = counted.k and counted.n_negative = counted.k as is_complete,
    is_complete
    and counted.n_positive_right = counted.k
    and counted.n_negative_right = counted.k as is_mastered,
    coalesce(counted.wrong_of_true, []) as wrong_of_true,
    coalesce(counted.wrong_of_false, []) as wrong_of_false,
    pair_clusters.head_cluster, pair_clusters.positive_tail_cluster, pair_clusters.negative_tail_cluster,
    shortcuts.shortcut,
    shortcuts.mastery as shortcut_mastery
from counted
inner join pair_clusters using (edition_id, pair_id)
inner join shortcut_scores as shortcuts
    on
        counted.edition_id = shortcuts.edition_id
        and counted.method = shortcuts.method
        and counted.pair_id = shortcuts.pair_id
        and shortcuts.baseline = 'best'
order by
    counted.edition_id, counted.model_id, counted.method, counted.scoring_policy, counted.repeat, counted.relation,
    counted.pair_id

-- Grain: one row per edition, model, method, scoring policy, repeat and relation.
-- The measures of the leaderboard over the relation's pairs, with intervals of the same kind. A relation with few tails
-- has a small n_effective, and then a wide interval.
create or replace view accuracy_by_relation as
with measured as (
    select
        run, relation,
        share(n_positive_right + n_negative_right, n_positive + n_negative) as average_accuracy,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        share(is_mastered::integer, is_complete::integer) as mastery
    from pair_scores
    group by run, relation
)

select
    edition_id, model_id, model, method, scoring_policy, repeat, measured.relation,
    n_complete_pairs,
    unless_selected(measured.mastery, scoring_policy, pair_left_out_rate) as mastery, mastery_ci_low, mastery_ci_high,
    n_samples, n_pairs,
    measured.average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high, n_effective,
    n_triplets,
    unless_selected(measured.joint_accuracy, scoring_policy, left_out_rate) as joint_accuracy,
    joint_accuracy_ci_low, joint_accuracy_ci_high,
    best_shortcut, best_shortcut_mastery,
    mastery_above_shortcut, mastery_above_shortcut_ci_low, mastery_above_shortcut_ci_high,
    pair_left_out_rate,
    no_answer_rate, unfinished_reasoning_rate, refused_rate,
    true_rate, affirmed_rate, n_errors, error_rate
from scores
inner join measured on scores.run = measured.run and scores.group_name = measured.relation
where grouping_by = 'relation'
order by edition_id, model, model_id, method, scoring_policy, repeat, measured.relation

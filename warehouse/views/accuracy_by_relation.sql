-- Grain: one row per edition, model, method, scoring policy, repeat and relation.
-- The measures of the leaderboard over the relation's samples, triplets and pairs, with the same intervals
-- (leaderboard). A relation with few tails has a small n_effective, and then a wide interval.
-- n_samples: graded samples; n_pairs: pairs with a graded sample; n_complete_pairs: denominator of mastery.
create or replace view accuracy_by_relation as
select
    edition_id, model_id, model, method, scoring_policy, repeat,
    group_name as relation,
    n_complete_pairs, mastery, mastery_ci_low, mastery_ci_high,
    n_samples, n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high, n_effective,
    n_triplets, joint_accuracy, joint_accuracy_ci_low, joint_accuracy_ci_high,
    best_shortcut, best_shortcut_mastery,
    mastery_above_shortcut, mastery_above_shortcut_ci_low, mastery_above_shortcut_ci_high,
    pair_left_out_rate,
    no_answer_rate, unfinished_reasoning_rate, refused_rate,
    true_rate, affirmed_rate, n_errors, error_rate
from scores
where grouping_by = 'relation'
order by edition_id, model, model_id, method, scoring_policy, repeat, relation

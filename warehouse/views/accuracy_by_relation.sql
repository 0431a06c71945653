-- Grain: one row per edition, model, method, scoring policy, repeat and relation.
-- The measures of the leaderboard over the relation's samples, triplets and pairs, with the same intervals
-- (leaderboard). A relation with few tails has a small n_effective, and then a wide interval.
-- n_samples: graded samples; n_pairs: pairs with a graded sample; n_complete_pairs: denominator of mastery.
create or replace view accuracy_by_relation as
select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    measures.relation,
    measures.n_complete_pairs, measures.mastery, scores.mastery_ci_low, scores.mastery_ci_high,
    measures.n_samples, measures.n_pairs,
    measures.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high, scores.n_effective,
    measures.n_triplets, measures.joint_accuracy, scores.joint_accuracy_ci_low, scores.joint_accuracy_ci_high,
    scores.best_shortcut, scores.best_shortcut_mastery,
    scores.mastery_above_shortcut, scores.mastery_above_shortcut_ci_low, scores.mastery_above_shortcut_ci_high,
    measures.pair_left_out_rate,
    measures.no_answer_rate, measures.unfinished_reasoning_rate, measures.refused_rate,
    measures.true_rate, measures.affirmed_rate, measures.n_errors, measures.error_rate
from scores
inner join storage.measures as measures on scores.run = measures.run and scores.group_name = measures.relation
where scores.grouping_by = 'relation'
order by
    scores.edition_id, scores.model, scores.model_id, scores.method, scores.scoring_policy, scores.repeat,
    measures.relation

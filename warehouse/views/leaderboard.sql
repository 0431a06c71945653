-- Grain: one row per edition, model, method, scoring policy and repeat.
-- The measures of method.md, section 4, side by side: the sums over pairs (pair_scores), with the intervals and the other
-- figures of scores. Under `excluded`, joint_accuracy and mastery are null where more than a fifth of their units is left
-- out, because the rest is the model's own selection.
-- average_accuracy_ci_low, …: 95 % intervals for new facts like these; pairs that share a head or tail are correlated.
-- average_accuracy_fixed_base_ci_low, …: only pairs are clusters.
-- best_shortcut: the best shortcut of each relation (shortcut_scores), joined by " + "; mastery_above_shortcut:
-- mastery minus its mastery of the pairs that the model completed. A shortcut chosen by its result is an upper bound,
-- so a model can know something and still be below it; a model above it knows more than names and polarity tell.
-- A model that was asked several times has one row per repeat; scores has the means (grouping_by `repeats`).
-- rank: by mastery, then average accuracy, within edition, method, scoring policy and repeat. rank_low, rank_high: the
-- ranks that the model may have. It is behind every model whose mastery is higher by a difference that is significant
-- among all pairs of models (holm_p_value < 0.05 in model_comparison), and ahead of every model below it likewise.
create or replace view leaderboard as
with measured as (
    select
        run,
        share(n_positive_right + n_negative_right, n_positive + n_negative) as average_accuracy,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        share(is_mastered::integer, is_complete::integer) as mastery
    from pair_scores
    group by run
),

ahead as (
    select
        run, count(*) filter (difference < 0) as n_ahead, count(*) filter (difference > 0) as n_behind
    from storage.paired_models
    where measure = 'mastery' and relation is null and holm_p_value < 0.05
    group by run
)

select
    scores.edition_id, scores.method, scores.scoring_policy, scores.repeat,
    rank() over ranking as rank,
    scores.model_id, scores.model,
    scores.n_complete_pairs, scores.n_pairs, scores.n_triplets, scores.n_samples,
    unless_selected(measured.mastery, scores.scoring_policy, scores.pair_left_out_rate) as mastery,
    scores.mastery_ci_low, scores.mastery_ci_high,
    scores.mastery_fixed_base_ci_low, scores.mastery_fixed_base_ci_high,
    case when scores.mastery is not null then 1 + coalesce(n_ahead, 0) end as rank_low,
    case when scores.mastery is not null then count(scores.mastery) over setting - coalesce(n_behind, 0) end
        as rank_high,
    measured.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high,
    scores.average_accuracy_fixed_base_ci_low, scores.average_accuracy_fixed_base_ci_high,
    measured.average_accuracy - 0.5 as gain_over_random,
    unless_selected(measured.joint_accuracy, scores.scoring_policy, scores.left_out_rate) as joint_accuracy,
    scores.joint_accuracy_ci_low, scores.joint_accuracy_ci_high,
    scores.best_shortcut, scores.best_shortcut_mastery,
    scores.mastery_above_shortcut, scores.mastery_above_shortcut_ci_low, scores.mastery_above_shortcut_ci_high,
    scores.n_effective,
    scores.consistency,
    scores.no_answer_rate, scores.unfinished_reasoning_rate, scores.refused_rate,
    scores.true_rate, scores.affirmed_rate, constant_answer(scores.true_rate) as constant_answer,
    scores.n_errors, scores.error_rate,
    scores.pair_left_out_rate
from scores
inner join measured using (run)
left join ahead using (run)
where scores.grouping_by = 'edition'
window
    setting as (partition by scores.edition_id, scores.method, scores.scoring_policy, scores.repeat),
    ranking as (setting order by scores.mastery desc nulls last, measured.average_accuracy desc nulls last)
order by scores.edition_id, scores.method, scores.scoring_policy, scores.repeat, rank, scores.model, scores.model_id

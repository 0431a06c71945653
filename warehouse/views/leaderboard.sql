-- Grain: one row per edition, model, method, scoring policy and repeat.
-- The measures of method.md, section 4, side by side (scores). Under `excluded`, joint_accuracy and mastery are
-- null where more than a fifth of their units is left out (for mastery: pair_left_out_rate), because the rest is the
-- model's own selection.
-- average_accuracy_ci_low, …: 95 % intervals for new facts like these; pairs that share a head or tail are correlated.
-- average_accuracy_fixed_base_ci_low, …: only pairs are clusters.
-- n_effective: the effective number of heads or tails. Below 20, the 95 % intervals are only a rough guide.
-- best_shortcut: the best shortcut of each relation (shortcut_scores), joined by " + "; mastery_above_shortcut:
-- mastery minus its mastery of the pairs that the model completed. A shortcut chosen by its result is an upper bound,
-- so a model can know something and still be below it; a model above it knows more than names and polarity tell.
-- A model that was asked several times (repeats) has one row per repeat; repeat_spread has the means.
-- detectable_difference: the smallest true difference from another model that would be found with a power of 80 %
-- (macros.sql). It is an upper bound, because √2 times the own standard error assumes independent answers;
-- model_comparison has that of every two models.
-- rank: by mastery, then average accuracy, within edition, method, scoring policy and repeat. rank_low, rank_high: the
-- ranks that the model may have. It is behind every model whose mastery is higher by a difference that is significant
-- among all pairs of models (holm_p_value < 0.05 in model_comparison), and ahead of every model below it likewise.
create or replace view leaderboard as
with ahead as (
    select
        run, count(*) filter (difference < 0) as n_ahead, count(*) filter (difference > 0) as n_behind
    from storage.paired_models
    where measure = 'mastery' and relation is null and holm_p_value < 0.05
    group by run
)

select
    edition_id, method, scoring_policy, repeat,
    rank() over ranking as rank,
    model_id, model,
    n_complete_pairs, n_pairs, n_triplets, n_samples,
    mastery, mastery_ci_low, mastery_ci_high, mastery_fixed_base_ci_low, mastery_fixed_base_ci_high,
    case when mastery is not null then 1 + coalesce(n_ahead, 0) end as rank_low,
    case when mastery is not null then count(mastery) over (partition by edition_id, method, scoring_policy, repeat)
        - coalesce(n_behind, 0) end as rank_high,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    average_accuracy_fixed_base_ci_low, average_accuracy_fixed_base_ci_high,
    average_accuracy - 0.5 as gain_over_random,
    joint_accuracy, joint_accuracy_ci_low, joint_accuracy_ci_high,
    best_shortcut, best_shortcut_mastery,
    mastery_above_shortcut, mastery_above_shortcut_ci_low, mastery_above_shortcut_ci_high,
    detectable(sqrt(2) * (average_accuracy_ci_high - average_accuracy_ci_low)) as detectable_difference,
    detectable(sqrt(2) * (mastery_ci_high - mastery_ci_low)) as detectable_mastery_difference,
    n_effective,
    consistency,
    no_answer_rate, unfinished_reasoning_rate, refused_rate,
    true_rate, affirmed_rate, constant_answer(true_rate) as constant_answer,
    n_errors, error_rate,
    pair_left_out_rate
from scores
left join ahead using (run)
where grouping_by = 'edition'
window ranking as (
    partition by edition_id, method, scoring_policy, repeat
    order by mastery desc nulls last, average_accuracy desc nulls last
)
order by edition_id, method, scoring_policy, repeat, rank, model, model_id

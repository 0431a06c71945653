-- Grain: one row per edition, model, scoring policy, repeat and method other than pretexeval.
-- How much lower the model scores by the method pretexeval than by another one, on the pairs that both asked
-- about (method, section 4; PretexEval, table 1). average_accuracy and gain_over_random are those of pretexeval,
-- other_average_accuracy and other_gain those of the method; all count what both grade.
-- difference = average_accuracy − other_average_accuracy, with the interval of a paired difference (compare_parts).
-- A triplet's one answer by direct or origin is compared with each of its eight by pretexeval; an answer by llmeval
-- with the one at the same place.
-- The shares of missing answers and failed prompts are in average_accuracy.
-- relative_loss: the part of the gain by the method that is lost by pretexeval; null if there is no such gain.
create or replace view method_comparison as
with others as (
    select * replace (spread_first(graded_bits, k) as graded_bits, spread_first(correct_bits, k) as correct_bits)
    from pair_scores
    where method <> 'pretexeval'
),

matches as (
    -- The method is that of the other score, so that every pair of methods has rows of its own.
    select one.* replace (others.method as method), columns(others.*) as "other_\0"
    from pair_scores as one
    inner join others using (edition_id, model_id, scoring_policy, repeat, pair_id)
    where one.method = 'pretexeval'
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    n_observations as n_samples,
    n_pairs,
    score as average_accuracy,
    score_ci_low as average_accuracy_ci_low,
    score_ci_high as average_accuracy_ci_high,
    score - 0.5 as gain_over_random,
    other_score as other_average_accuracy,
    other_score_ci_low as other_average_accuracy_ci_low,
    other_score_ci_high as other_average_accuracy_ci_high,
    other_score - 0.5 as other_gain,
    difference,
    difference_ci_low,
    difference_ci_high,
    n_effective,
    case when other_score > 0.5 then 1 - (score - 0.5) / (other_score - 0.5) end as relative_loss
from compare_parts('matches')
where relation is null and measure = 'average_accuracy'
order by edition_id, model, model_id, method, scoring_policy, repeat

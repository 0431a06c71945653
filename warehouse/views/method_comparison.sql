-- Grain: one row per edition, model, scoring policy, repeat and method other than pretexeval.
-- The scores by the method pretexeval less those by another one, of the same model on the pairs that both asked
-- about (method, section 4; PretexEval, table 1). average_accuracy and gain_over_random are those of pretexeval,
-- other_average_accuracy and other_gain those of the method; all count what both grade.
-- difference = average_accuracy − other_average_accuracy, with the interval of a paired difference (differences).
-- A triplet's one answer by direct or origin is compared with each of its eight by pretexeval; an answer by llmeval
-- with the one at the same place.
-- The shares of missing answers and failed prompts are in the leaderboard.
create or replace view method_comparison as
select
    edition_id, model_id, model, other_method as method, scoring_policy, repeat,
    n_observations as n_samples, n_pairs,
    score as average_accuracy, score - 0.5 as gain_over_random,
    other_score as other_average_accuracy, other_score - 0.5 as other_gain,
    difference, difference_ci_low, difference_ci_high, n_effective,
    case when other_score > 0.5 then 1 - (score - 0.5) / (other_score - 0.5) end as relative_loss
from differences
where comparison = 'methods' and measure = 'average_accuracy'
order by edition_id, model, model_id, other_method, scoring_policy, repeat

-- Grain: one row per edition, model, method, repeat and tenth of p_true that contains a test sample.
-- The reliability diagram of probability_calibration. A table, because ranking millions of probabilities takes seconds.
-- p_true: the softmax of the two log-probabilities, 1 / (1 + exp(logprob_false − logprob_true)). A sample without both
-- is left out. A bin contains the n_samples with p_true from p_low to p_low + 0.1 (p_true = 1 belongs to the last).
-- Log-probabilities do not depend on the scoring policy, so only the first policy of a run is read.
-- rank_sum: sum of the ranks of the true samples among all samples of the edition, model, method and repeat.
-- Ties share the mean of their ranks. Ranks go by margin, because p_true reaches 1 at a margin of 37.
create table calibration_bins as
with weighed as (
    select
        edition_id, model_id, model, method, repeat, label,
        1 / (1 + exp(least(-margin, 700))) as p_true,
        rank() over ranking
        + (count(*) over (ranking range between current row and current row) - 1) / 2 as mean_rank
    from sample_scores
    semi join (
        select edition_id, model_id, min(scoring_policy) as scoring_policy
        from sample_scores
        group by edition_id, model_id
    ) as first_policy using (edition_id, model_id, scoring_policy)
    where period is null and margin is not null
    window ranking as (partition by run order by margin)
)

select
    edition_id, model_id, model, method, repeat,
    least(floor(p_true * 10), 9) / 10 as p_low,
    count(*) as n_samples, avg(p_true) as mean_p_true, avg(label::integer) as true_rate,
    sum((p_true - label::integer) ** 2) as sum_squared_error,
    sum(mean_rank) filter (where label) as rank_sum
from weighed
group by edition_id, model_id, model, method, repeat, p_low
order by edition_id, model_id, method, repeat, p_low

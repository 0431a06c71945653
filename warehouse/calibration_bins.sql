-- Grain: one row per edition, model, method, repeat and tenth of p_true that contains a test sample.
-- The reliability diagram of probability_calibration. A table, because ranking millions of probabilities takes seconds.
-- p_true: the softmax of the two log-probabilities, 1 / (1 + exp(logprob_false − logprob_true)). A sample without both
-- is left out. A bin contains the n_samples with p_true from p_low to p_low + 0.1 (p_true = 1 belongs to the last).
-- Log-probabilities do not depend on the scoring policy, so only the first policy of a run is read.
-- rank_sum: sum of the ranks of the true samples among all samples of the edition, model, method and repeat.
-- Ties share the mean of their ranks. Ranks go by margin, because p_true reaches 1 at a margin of 37.
-- run: a number for the ranking; the long names of edition and model would take four times as long.
create table calibration_bins as
with numbered as (
    select
        edition_id,
        model_id,
        min(scoring_policy) as scoring_policy,
        row_number() over ()::integer as run
    from predictions
    where
        (edition_id, model_id) in (
            select (edition_id, model_id) from error_counts where setting is null and is_evaluated
        )
    group by edition_id, model_id
),

margins as (
    select
        numbered.run,
        samples.method,
        predictions.repeat,
        samples.label,
        predictions.logprob_true - predictions.logprob_false as margin
    from predictions
    inner join numbered using (edition_id, model_id, scoring_policy)
    inner join samples using (edition_id, sample_id)
    where
        samples.split = 'test'
        and isfinite(predictions.logprob_true)
        and isfinite(predictions.logprob_false)
),

ranked as (
    select
        run,
        method,
        repeat,
        label,
        1 / (1 + exp(least(-margin, 700))) as p_true,
        rank() over ranking + (count(*) over (
            ranking range between current row and current row
        ) - 1) / 2 as mean_rank
    from margins
    window ranking as (partition by run, method, repeat order by margin)
)

select
    numbered.edition_id,
    numbered.model_id,
    models.name as model,
    ranked.method,
    ranked.repeat,
    least(floor(p_true * 10), 9) / 10 as p_low,
    count(*) as n_samples,
    avg(p_true) as mean_p_true,
    avg(label::integer) as true_rate,
    sum((p_true - label::integer) ** 2) as sum_squared_error,
    sum(mean_rank) filter (where label) as rank_sum
from ranked
inner join numbered using (run)
inner join models on numbered.model_id = models.model_id
group by numbered.edition_id, numbered.model_id, models.name, ranked.method, ranked.repeat, p_low
order by numbered.edition_id, numbered.model_id, ranked.method, ranked.repeat, p_low

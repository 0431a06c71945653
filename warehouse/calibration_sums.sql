-- Grain: one row per edition, model, method, repeat and tenth of p_true that contains a test sample.
-- The views probability_calibration and calibration_bins read this table. It is a table, like pair_scores,
-- because ranking millions of probabilities takes seconds and the result never changes.
--
-- p_true: the softmax of the two log-probabilities, 1 / (1 + exp(logprob_false − logprob_true)). bin: its
-- tenth, 0 to 9 (p_true = 1 belongs to the last). A sample without both log-probabilities is left out.
-- Log-probabilities do not depend on the scoring policy, so only the first policy of a run is read.
-- Evaluations with too many failed prompts have no rows (error_counts.sql).
-- rank_sum: sum of the ranks of the true samples among all samples of the edition, model, method and repeat.
-- Ties share the mean of their ranks. Ranks go by margin, because p_true reaches 1 at a margin of 37.
-- run: a number per edition and model for the ranking; their long names would take four times as long.
create table calibration_sums as
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
    ranked.method,
    ranked.repeat,
    least(floor(p_true * 10), 9)::tinyint as bin,
    count(*) as n_samples,
    count(*) filter (where label) as n_true,
    sum(p_true) as sum_p_true,
    sum((p_true - label::integer) ** 2) as sum_squared_error,
    sum(mean_rank) filter (where label) as rank_sum
from ranked
inner join numbered using (run)
group by numbered.edition_id, numbered.model_id, ranked.method, ranked.repeat, bin
order by numbered.edition_id, numbered.model_id, ranked.method, ranked.repeat, bin

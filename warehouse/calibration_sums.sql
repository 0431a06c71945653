-- Grain: one row per edition, model, method, repeat and tenth of p_true that holds a test sample;
-- read by the views probability_calibration and calibration_bins.
-- A table, as pair_scores is: to rank millions of probabilities takes seconds, and has one answer.
--
-- p_true: the softmax of the two log-probabilities, 1 / (1 + exp(logprob_false − logprob_true)); bin:
-- its tenth, 0 to 9 (p_true = 1 in the last). A sample without both log-probabilities has no row here.
-- They do not depend on the scoring policy: taken once, under the first that a run has.
-- rank_sum: of the samples that are true, ranked by margin (ties share the mean of their ranks) among
-- all of the edition, model, method and repeat; by margin, since p_true runs into 1 at 37.
-- run: a number for edition and model, to rank within; their long names take four times as long.
create table calibration_sums as
with numbered as (
    select
        edition_id,
        model_id,
        min(scoring_policy) as scoring_policy,
        row_number() over ()::integer as run
    from predictions
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

-- Grain: one row per edition and model with a finished evaluation.
-- The samples whose prompt failed, and whether so few failed that the model counts as evaluated. The tables
-- pair_scores and calibration_sums have rows of evaluated models only. It is a table because both read it.
-- n_samples: the asked samples (every policy has one row for each). error_rate: n_errors / n_samples.
-- is_evaluated: error_rate is at most max_error_rate, the limit in the record of the run.
-- commonest_error: the error of most of the failed samples.
create table error_counts as
with counted as (
    select
        edition_id,
        model_id,
        count(*) // count(distinct scoring_policy) as n_samples,
        count(error) // count(distinct scoring_policy) as n_errors
    from predictions
    group by edition_id, model_id
),

commonest as (
    select
        edition_id,
        model_id,
        error as commonest_error
    from predictions
    where error is not null
    group by edition_id, model_id, error
    qualify row_number() over (partition by edition_id, model_id order by count(*) desc, error) = 1
)

select
    runs.edition_id,
    runs.model_id,
    counted.n_samples,
    counted.n_errors,
    counted.n_errors / counted.n_samples as error_rate,
    runs.max_error_rate,
    counted.n_errors <= runs.max_error_rate * counted.n_samples as is_evaluated,
    commonest.commonest_error
from runs
inner join counted using (edition_id, model_id)
left join commonest using (edition_id, model_id)
order by runs.edition_id, runs.model_id

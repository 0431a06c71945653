-- Grain: one row per edition, setting and model with a finished evaluation of questions.
-- The same as error_counts, for questions: those without a response of any repeat, and whether so few failed
-- that the model counts as evaluated in the setting. The table point_scores has rows of evaluated models only.
create table question_error_counts as
with counted as (
    select
        edition_id,
        setting,
        model_id,
        count(*) // count(distinct scoring_policy) as n_questions,
        count(error) // count(distinct scoring_policy) as n_errors
    from question_predictions
    group by edition_id, setting, model_id
),

commonest as (
    select
        edition_id,
        setting,
        model_id,
        error as commonest_error
    from question_predictions
    where error is not null
    group by edition_id, setting, model_id, error
    qualify row_number() over (
        partition by edition_id, setting, model_id order by count(*) desc, error
    ) = 1
)

select
    runs.edition_id,
    runs.setting,
    runs.model_id,
    counted.n_questions,
    counted.n_errors,
    counted.n_errors / counted.n_questions as error_rate,
    runs.max_error_rate,
    counted.n_errors <= runs.max_error_rate * counted.n_questions as is_evaluated,
    commonest.commonest_error
from question_runs as runs
inner join counted using (edition_id, setting, model_id)
left join commonest using (edition_id, setting, model_id)
order by runs.edition_id, runs.setting, runs.model_id

-- Grain: one row per edition, model, setting, stage and expectation that the rows of the stage must meet
-- Great Expectations validates a stage when it is written. A broken expectation stops the run, unless it is a
-- warning. model_id is null for the stages of an edition and for what is measured on it; setting is null except
-- for questions. Responses are those to the requests of the evaluation. Older evaluations have no rows until they
-- are scored again. checked_at is UTC.
create or replace view checks as
with reports as (
    from storage.edition_checks
    union all by name
    from storage.run_checks
    union all by name
    from storage.question_run_checks
)

select
    reports.edition_id,
    reports.model_id,
    models.name as model,
    reports.setting,
    reports.stage,
    reports.expectation,
    reports.checked_columns,
    reports.requirement,
    reports.is_passed,
    reports.n_rows,
    reports.n_unexpected,
    reports.checked_at
from reports
left join models using (model_id)
order by edition_id, model, model_id, setting, stage, expectation, checked_columns, requirement

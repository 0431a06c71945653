-- Grain: one row per edition, model, setting, stage and expectation that the rows of the stage must meet.
-- Great Expectations validates a stage when it is written. A broken expectation stops the run, unless it is a
-- warning. model_id is null for the stages of an edition and for what is measured on it; setting is null except
-- for questions. Responses are those to the requests of the evaluation. checked_at is UTC.
create or replace view checks as
select
    edition_id, model_id, models.name as model, setting, stage,
    expectation, checked_columns, requirement, is_passed, n_rows, n_unexpected, checked_at
from storage.checks
left join models using (model_id)
order by edition_id, model, model_id, setting, stage, expectation, checked_columns, requirement

-- Grain: one row per edition, stage, model and setting.
-- The validation of a stage as a whole, with that of the same stage in the editions of its base up to this one.
-- n_checked_editions: editions of the base, up to this one, in which the stage was validated for the same model
-- and setting; n_passed_editions: those of them in which it met every expectation. The editions of a base are in
-- the order of edition_drift.
create or replace view check_history as
with stages as (
    select
        checks.edition_id,
        editions.kb,
        editions.period_start,
        checks.stage,
        checks.model,
        checks.model_id,
        checks.setting,
        count(*) as n_expectations,
        count(*) filter (checks.is_passed) as n_passed,
        max(checks.n_rows) as n_rows,
        max(checks.checked_at) as checked_at
    from checks
    inner join editions using (edition_id)
    group by all
)

select
    edition_id,
    kb,
    stage,
    model,
    model_id,
    setting,
    n_expectations,
    n_passed,
    n_passed = n_expectations as is_passed,
    n_rows,
    checked_at,
    count(*) over up_to_here as n_checked_editions,
    count(*) filter (n_passed = n_expectations) over up_to_here as n_passed_editions
from stages
window up_to_here as (
    partition by kb, stage, model_id, setting
    order by period_start nulls last, edition_id
)
order by edition_id, model nulls first, model_id, setting, stage

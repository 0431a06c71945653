-- Grain: one row per edition, model, setting, stage and expectation that the rows of the stage must meet.
-- Great Expectations validates a stage when it is written. A broken expectation stops the run, unless it is a
-- warning. model_id is null for the stages of an edition and for what is measured on it; setting is null except
-- for questions. Responses are those to the requests of the evaluation. The stage freshness is about the share of
-- new texts that min_new_texts requires, by method; the last publication of the edition counts. checked_at is UTC.
create or replace view checks as
with reports as (
    from storage.checks
    union all by name
    select
        edition_id,
        'freshness' as stage,
        'texts_are_new' as expectation,
        'text' as checked_columns,
        format('{:.1f} % of the texts of {} are in no earlier edition', 100 * min_new_texts, method) as requirement,
        new_text_rate >= min_new_texts as is_passed,
        n_texts as n_rows,
        n_texts - n_new_texts as n_unexpected,
        min_new_texts_at as checked_at
    from freshness
    inner join editions using (edition_id)
    where min_new_texts is not null
)

select
    edition_id, model_id, models.name as model, setting, stage,
    expectation, checked_columns, requirement, is_passed, n_rows, n_unexpected, checked_at
from reports
left join models using (model_id)
order by edition_id, model, model_id, setting, stage, expectation, checked_columns, requirement

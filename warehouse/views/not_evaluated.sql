-- Grain: one row per edition and model whose evaluation failed.
-- These models have no rows in the views of scores. Either more prompts failed than max_error_rate allows
-- (error_counts.sql), or the evaluation ended with an error before its answers could be scored (failures).
-- reason: what failed, in the words of the endpoint or engine, and what to change.
-- n_samples, n_errors, error_rate: the asked samples, and those whose prompt failed; null if the evaluation
-- ended before all prompts were asked. model_id is null if the model could not be identified.
create or replace view not_evaluated as
with evaluated as (
    select error_counts.edition_id, error_counts.model_id, models.name as model
    from error_counts
    inner join models using (model_id)
    where error_counts.is_evaluated
),

too_many as (
    select
        error_counts.edition_id,
        error_counts.model_id,
        models.name as model,
        error_counts.n_samples,
        error_counts.n_errors,
        error_counts.error_rate,
        format(
            '{:d} of {:d} samples failed ({:.1f} %), more than max_error_rate = {} allows; most often: {}',
            error_counts.n_errors,
            error_counts.n_samples,
            100 * error_counts.error_rate,
            error_counts.max_error_rate,
            error_counts.commonest_error
        ) as reason,
        runs.finished_at as failed_at
    from error_counts
    inner join runs using (edition_id, model_id)
    inner join models using (model_id)
    where not error_counts.is_evaluated
),

-- An evaluation that was completed before stays valid when a later attempt to ask its open prompts fails.
failed as (
    select failures.*
    from failures
    anti join evaluated
        on failures.edition_id = evaluated.edition_id
        and (
            failures.model_id = evaluated.model_id
            or (failures.model_id is null and failures.model = evaluated.model)
        )
)

select
    coalesce(failed.edition_id, too_many.edition_id) as edition_id,
    coalesce(failed.model, too_many.model) as model,
    coalesce(failed.model_id, too_many.model_id) as model_id,
    too_many.n_samples,
    too_many.n_errors,
    too_many.error_rate,
    coalesce(failed.reason, too_many.reason) as reason,
    coalesce(failed.failed_at, too_many.failed_at) as failed_at
from failed
full join too_many
    on failed.edition_id = too_many.edition_id and failed.model_id = too_many.model_id
order by edition_id, model, model_id

-- Grain: one row per edition, setting (null: its samples) and model whose evaluation failed.
-- These models have no rows in the views of scores of samples, or of what was asked in the setting. Either more prompts
-- failed than max_error_rate allows, or the evaluation ended with an error before its answers could be scored (failures).
-- Of anchors that could not be asked, setting is the period.
-- n_predictions, n_errors and error_rate are null if the evaluation ended before all prompts were asked, and model_id is
-- null if the model could not be identified.
create or replace view not_evaluated as
with finished as (
    select runs.*, models.name as model, n_errors / n_predictions as error_rate
    from runs
    inner join models using (model_id)
    where period is null
),

too_many as (
    select
        *,
        format(
            '{:d} of {:d} {} failed ({:.1f} %), more than max_error_rate = {} allows; most often: {}',
            n_errors,
            n_predictions,
            case when coalesce(setting, 'true_false_unsure') = 'true_false_unsure' then 'samples' else 'questions' end,
            100 * error_rate,
            max_error_rate,
            commonest_error
        ) as reason
    from finished
    where not is_evaluated
),

-- An evaluation that was completed before stays valid when a later attempt to ask its open prompts fails.
failed as (
    select failures.*
    from failures
    anti join (from finished where is_evaluated) as evaluated
        on failures.edition_id = evaluated.edition_id
        and failures.setting is not distinct from evaluated.setting
        and (
            failures.model_id = evaluated.model_id
            or (failures.model_id is null and failures.model = evaluated.model)
        )
)

select
    coalesce(failed.edition_id, too_many.edition_id) as edition_id,
    coalesce(failed.setting, too_many.setting) as setting,
    coalesce(failed.model, too_many.model) as model,
    coalesce(failed.model_id, too_many.model_id) as model_id,
    too_many.n_predictions, too_many.n_errors, too_many.error_rate,
    coalesce(failed.reason, too_many.reason) as reason,
    coalesce(failed.failed_at, too_many.finished_at) as failed_at
from failed
full join too_many
    on failed.edition_id = too_many.edition_id
    and failed.setting is not distinct from too_many.setting
    and failed.model_id = too_many.model_id
order by edition_id, setting nulls first, model, model_id

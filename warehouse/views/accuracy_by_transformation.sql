-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. A model that always says True gets half of each right, and
-- so does a model that answers from the polarity (is_negated) alone. Methods without transformations (llmeval) have no rows.
create or replace view accuracy_by_transformation as
with masks as (
    select transformation as part, bits, 1 as k
    from transformations
),

scored as (
    from mask_scores('masks')
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    part as transformation,
    is_negated,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average']) as measured
inner join transformations on measured.part = transformations.transformation
order by edition_id, model, model_id, method, scoring_policy, repeat, position

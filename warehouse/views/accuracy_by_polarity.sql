-- Grain: one row per edition, model, method, scoring policy, repeat and polarity.
-- average_accuracy: over the samples whose transformation negates (is_negated) or does not. A model that
-- always says True gets half of each right, and so does a model that answers from the polarity alone.
-- Methods without transformations (llmeval) have no rows.
-- true_rate: share of "true" among the answers given.
-- ci_low, ci_high, n_effective: as in average_accuracy.
create or replace view accuracy_by_polarity as
with masks as (
    select is_negated as part, sum(bits)::usmallint as bits, count(*) as k
    from transformations
    group by is_negated
),

scored as (
    from mask_scores('masks')
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    part as is_negated,
    n_samples,
    n_pairs,
    average_accuracy,
    ci_low,
    ci_high,
    n_effective,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average'])
order by edition_id, model, model_id, method, scoring_policy, repeat, is_negated

-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. is_negated: its polarity (see
-- accuracy_by_polarity). Methods without transformations (llmeval) have no rows.
-- true_rate: share of "true" among the answers given.
-- ci_low, ci_high: 95 % interval with the pair as the cluster (two samples of a pair per transformation).
create or replace view accuracy_by_transformation as
select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    part as transformation,
    is_negated,
    n_samples,
    n_pairs,
    average_accuracy,
    ci_low,
    ci_high,
    no_answer_rate,
    true_rate,
    n_errors,
    error_rate
from accuracy_by_part(transformation)
order by edition_id, model, model_id, method, scoring_policy, repeat, position

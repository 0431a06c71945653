-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. is_negated: its polarity (see
-- accuracy_by_polarity). Methods without transformations (llmeval) have no rows.
-- ci_low, ci_high: 95 %, pair as the cluster (two samples of a pair under each transformation).
create or replace view accuracy_by_transformation as
with transformed as (
    select
        pair_scores.edition_id,
        pair_scores.model_id,
        pair_scores.model,
        pair_scores.method,
        pair_scores.scoring_policy,
        pair_scores.repeat,
        transformations.transformation,
        transformations.position,
        transformations.is_negated,
        bit_count(asked_bits & bits)::integer as n_asked,
        bit_count(graded_bits & bits)::integer as n_graded,
        bit_count(correct_bits & bits)::integer as n_correct,
        bit_count(unanswered_bits & bits)::integer as n_no_answer
    from pair_scores
    cross join transformations
    where pair_scores.method <> 'llmeval' and (asked_bits & bits) > 0
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    transformation,
    is_negated,
    sum(n_graded)::bigint as n_samples,
    n_clusters(n_graded) as n_pairs,
    share(n_correct, n_graded) as average_accuracy,
    cluster_low(n_correct, n_graded) as ci_low,
    cluster_high(n_correct, n_graded) as ci_high,
    share(n_no_answer, n_asked) as no_answer_rate
from transformed
group by
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    transformation,
    position,
    is_negated
order by edition_id, model, model_id, method, scoring_policy, repeat, position

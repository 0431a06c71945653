-- Grain: one row per edition, setting, model, scoring policy, is_negated_included and taught_with.
-- What known_mastery is for samples: a check of the measurement on the points that a reference model was taught or
-- not taught (taught_points). mastered_rate is the share of points mastered by all facets of the edition
-- (mastered_points), of the n_points that have all questions of them, all graded. It should be near 100 % of the
-- points that it was taught, and near 0 of the others: a guesser would have to be right up to ten times in a row.
-- Only relations whose facts are still those that the model was taught are counted. Models without a list of known
-- heads have no rows. Under `excluded` the share is null where more than a fifth of the points is not graded.
create or replace view known_facets as
with all_facets as (
    from facet_sets
    qualify n_facets = max(n_facets) over (partition by edition_id)
),

scored as materialized (
    select
        point_scores.*,
        all_facets.is_negated_included,
        all_facets.needed_bits,
        taught_points.is_known,
        taught_points.taught_with,
        (graded_bits & needed_bits = needed_bits)::integer as is_complete,
        {'run': run, 'is_negated_included': is_negated_included, 'taught_with': taught_with} as key
    from point_scores
    inner join storage.taught_points using (edition_id, model_id, point_id)
    inner join all_facets on point_scores.edition_id = all_facets.edition_id
    where taught_points.is_as_taught and asked_bits & needed_bits = needed_bits
),

estimates as materialized (
    from estimate_mastered('scored')
),

counted as (
    select
        key,
        any_value(columns(['edition_id', 'setting', 'model_id', 'model', 'scoring_policy', 'is_known'])),
        sum(is_complete)::bigint as n_points,
        any_value(scoring_policy) <> 'excluded' or n_points >= 0.8 * count(*) as has_score,
        share(bit_count(unanswered_bits & needed_bits), bit_count(asked_bits & ~failed_bits & needed_bits))
            as no_answer_rate,
        share(bit_count(unfinished_bits & needed_bits), bit_count(asked_bits & ~failed_bits & needed_bits))
            as unfinished_reasoning_rate,
        sum(bit_count(failed_bits & needed_bits))::bigint as n_errors,
        share(bit_count(failed_bits & needed_bits), bit_count(asked_bits & needed_bits)) as error_rate
    from scored
    group by key
)

select
    counted.edition_id, counted.setting, counted.model_id, counted.model, counted.scoring_policy,
    counted.key.is_negated_included as is_negated_included,
    counted.is_known,
    counted.key.taught_with as taught_with,
    counted.n_points,
    case when has_score then estimates.share end as mastered_rate,
    case when has_score then estimates.ci_low end as mastered_rate_ci_low,
    case when has_score then estimates.ci_high end as mastered_rate_ci_high,
    estimates.n_effective,
    counted.no_answer_rate,
    counted.unfinished_reasoning_rate,
    counted.n_errors,
    counted.error_rate
from counted
left join estimates using (key)
order by
    edition_id, setting, model, model_id, scoring_policy, is_negated_included, is_known desc, taught_with desc

-- Grain: one row per edition, setting, model, scoring policy, set of facets and is_negated_included.
-- The share of mastered points p(M) for each of the 15 sets of facets; the views mastered_points and known_facets
-- say what it counts. It is a table, because 30 estimates for each of 12 models ×
-- 17,000 points take longer than a view may.
create table mastered_scores as
with scores as (
    select
        point_scores.*,
        facet_sets.facet_set,
        facet_sets.is_negated_included,
        needed_bits,
        struct_pack(run, facet_set, is_negated_included) as key
    from point_scores
    inner join facet_sets using (edition_id)
),

estimates as (
    from estimate_mastered('scores')
),

summed as (
    select
        key,
        any_value(columns([
            'edition_id', 'setting', 'model_id', 'model', 'scoring_policy', 'run', 'facet_set',
            'is_negated_included'
        ])),
        count(*) filter (where asked_bits & needed_bits = needed_bits) as n_whole_points,
        count(*) filter (where graded_bits & needed_bits = needed_bits) as n_points,
        count(*) filter (where correct_bits & needed_bits = needed_bits) as n_mastered,
        count(*) as n_asked_points,
        sum(bit_count(asked_bits & needed_bits))::bigint as n_asked,
        sum(bit_count(unanswered_bits & needed_bits))::bigint as n_no_answer,
        sum(bit_count(unfinished_bits & needed_bits))::bigint as n_unfinished,
        sum(bit_count(failed_bits & needed_bits))::bigint as n_errors
    from scores
    group by key
)

select
    summed.edition_id, summed.setting, summed.model_id, summed.model, summed.scoring_policy,
    summed.run,
    summed.facet_set,
    summed.is_negated_included,
    summed.n_points,
    summed.n_asked_points - summed.n_whole_points as n_incomplete_points,
    1 - summed.n_points / nullif(summed.n_whole_points, 0) as left_out_rate,
    summed.scoring_policy <> 'excluded' or left_out_rate <= 0.2 as has_score,
    if(has_score, summed.n_mastered, null) as n_mastered,
    if(has_score, estimates.share, null) as mastered_rate,
    if(has_score, estimates.ci_low, null) as mastered_rate_ci_low,
    if(has_score, estimates.ci_high, null) as mastered_rate_ci_high,
    if(has_score, estimates.fixed_base_ci_low, null) as mastered_rate_fixed_base_ci_low,
    if(has_score, estimates.fixed_base_ci_high, null) as mastered_rate_fixed_base_ci_high,
    estimates.n_effective,
    estimates.inflation,
    estimates.n_rare,
    summed.n_no_answer / nullif(summed.n_asked - summed.n_errors, 0) as no_answer_rate,
    summed.n_unfinished / nullif(summed.n_asked - summed.n_errors, 0) as unfinished_reasoning_rate,
    summed.n_errors,
    summed.n_errors / nullif(summed.n_asked, 0) as error_rate
from summed
left join estimates using (key)
order by edition_id, setting, model_id, scoring_policy, facet_set, is_negated_included

-- Grain: one row per edition, two evaluations of questions, scoring policy and facet.
-- How far two models in one setting, or two settings of one model, differ on the questions of a facet, negated or
-- not; each two are compared once (match_points). difference = the accuracy of the first − the other's, over the
-- n_questions that are graded for both. The accuracy of RQ is the debiased one (facet_accuracy). The interval of
-- each accuracy has the clustering of all questions of that evaluation.
create table facet_comparison as
with matches as materialized (
    from match_points()
),

differences_per_point as (
    select
        *,
        match_number as key,
        shared_bits as graded_bits,
        correct_bits & ~other_correct_bits as gained_bits,
        other_correct_bits & ~correct_bits as lost_bits
    from matches
),

observations as (
    from observe_facets('differences_per_point', which := [2])
),

differences as (
    from estimate_shares('observations')
),

-- Even keys are the first runs, odd keys are the second ones.
scores_per_point as (
    select
        *,
        unnest([2 * match_number, 2 * match_number + 1]) as key,
        shared_bits as graded_bits,
        unnest([correct_bits, other_correct_bits]) as gained_bits,
        null::ubigint as lost_bits
    from matches
),

scores as (
    select key, observe(gained, n, n_most := sum(n_most)) as score
    from observe_facets('scores_per_point', which := [2])
    group by key
),

counted as (
    select
        match_number,
        position,
        any_value(columns(['run', 'other_run', 'facet', 'type'])),
        sum(bit_count(shared_bits & bits))::bigint as n_questions,
        share(bit_count(unanswered_bits & bits), bit_count(asked_bits & ~failed_bits & bits)) as no_answer_rate,
        share(bit_count(failed_bits & bits), bit_count(asked_bits & bits)) as error_rate,
        share(bit_count(other_unanswered_bits & bits), bit_count(other_asked_bits & ~other_failed_bits & bits))
            as other_no_answer_rate,
        share(bit_count(other_failed_bits & bits), bit_count(other_asked_bits & bits)) as other_error_rate
    from matches
    cross join (select *, affirmed_bits | negated_bits as bits from facets) as facets
    where asked_bits & bits > 0
    group by match_number, position
),

sized as (
    select
        counted.*,
        one.score,
        other.score as other_score,
        own.scoring_policy,
        own.edition_id,
        own.setting,
        own.model_id,
        own.model,
        others.setting as other_setting,
        others.model_id as other_model_id,
        others.model as other_model,
        effective_n(one.score, own.inflation, own.n_rare) as n_one,
        effective_n(other.score, others.inflation, others.n_rare) as n_other
    from counted
    inner join scores as one on one.key = struct_pack(key := 2 * match_number, position, part := 2)
    inner join scores as other on other.key = struct_pack(key := 2 * match_number + 1, position, part := 2)
    inner join facet_accuracy as own
        on counted.run = own.run and counted.facet = own.facet and own.is_negated is null
    inner join facet_accuracy as others
        on counted.other_run = others.run and counted.facet = others.facet and others.is_negated is null
)

select
    sized.edition_id,
    sized.setting,
    sized.model_id,
    sized.model,
    sized.other_setting,
    sized.other_model_id,
    sized.other_model,
    sized.scoring_policy,
    sized.facet,
    sized.type,
    sized.n_questions,
    differences.n_pairs as n_points,
    sized.score.share as accuracy,
    wilson_low(sized.score.share, n_one) as accuracy_ci_low,
    wilson_high(sized.score.share, n_one) as accuracy_ci_high,
    sized.other_score.share as other_accuracy,
    wilson_low(sized.other_score.share, n_other) as other_accuracy_ci_low,
    wilson_high(sized.other_score.share, n_other) as other_accuracy_ci_high,
    differences.share as difference,
    differences.ci_low as difference_ci_low,
    differences.ci_high as difference_ci_high,
    differences.n_effective,
    sized.no_answer_rate,
    sized.other_no_answer_rate,
    sized.error_rate,
    sized.other_error_rate
from sized
left join differences on differences.key = struct_pack(key := sized.match_number, sized.position, part := 2)
order by sized.match_number, sized.position

-- Grain: one row per edition, setting, model, scoring policy, facet and is_negated (null: all questions).
-- A table, because the intervals of 12 models × 17,000 points take several seconds.
-- accuracy: of MCQ, MAQ and TFQ, the share of the graded questions that are right (MAQ: all right options and no
-- other). Of RQ, the mean over the points of the debiased accuracy acc(right option offered)/n + acc(wrong option
-- offered) · (n − 1)/n with n options (MultifacetEval, section 4): a model that agrees with everything gets 1/n
-- there. Points of which only one kind of offer is graded are left out of it. right_offer_accuracy,
-- wrong_offer_accuracy: its two accuracies, over all graded questions. share_right is biased for RQ.
-- random_baseline: the accuracy of random answers, 1/n, 1/n, 1/(2ⁿ − 1) and 1/2, over the edition's questions.
-- The questions of a point are correlated, and so are points that share a head or, where the point has a pair, a
-- tail (estimate_shares). no_answer_rate: of the questions with a response, those of which no repeat has an answer.
create table facet_accuracy as
with scores as (
    select *, run as key, correct_bits as gained_bits, null::ubigint as lost_bits
    from point_scores
),

observations as (
    from observe_facets('scores')
),

estimates as (
    from estimate_shares('observations')
),

parts as (
    select
        run,
        position,
        part,
        any_value(columns(['edition_id', 'setting', 'model_id', 'model', 'scoring_policy', 'facet', 'type'])),
        case part when 0 then false when 1 then true end as is_negated,
        sum(bit_count(asked_bits & mask))::bigint as n_asked,
        sum(bit_count(graded_bits & mask))::bigint as n_questions,
        sum(bit_count(correct_bits & mask))::bigint as n_correct,
        sum(bit_count(unanswered_bits & mask))::bigint as n_no_answer,
        sum(bit_count(unfinished_bits & mask))::bigint as n_unfinished,
        sum(bit_count(failed_bits & mask))::bigint as n_errors,
        share(bit_count(correct_bits & mask & right_offer_bits), bit_count(graded_bits & mask & right_offer_bits))
            as right_offer_accuracy,
        share(
            bit_count(correct_bits & mask & ~right_offer_bits),
            bit_count(graded_bits & mask & ~right_offer_bits)
        ) as wrong_offer_accuracy
    from point_scores
    cross join (
        select
            facet,
            type,
            position,
            1085102592571150095::ubigint as right_offer_bits,  -- 0x0F in each of its 8 bytes
            unnest([0, 1, 2]) as part,
            unnest([affirmed_bits, negated_bits, affirmed_bits | negated_bits]) as mask
        from facets
    ) as masks
    where asked_bits & mask > 0
    group by run, position, part
),

baselines as (
    select edition_id, type, is_negated, favg(random_baseline) as random_baseline
    from question_slots
    group by grouping sets ((edition_id, type, is_negated), (edition_id, type))
)

select
    parts.run,
    parts.edition_id, parts.setting, parts.model_id, parts.model, parts.scoring_policy,
    parts.facet,
    parts.type,
    parts.is_negated,
    parts.n_questions,
    coalesce(estimates.n_pairs, 0) as n_points,
    estimates.share as accuracy,
    estimates.ci_low as accuracy_ci_low,
    estimates.ci_high as accuracy_ci_high,
    estimates.fixed_base_ci_low as accuracy_fixed_base_ci_low,
    estimates.fixed_base_ci_high as accuracy_fixed_base_ci_high,
    estimates.n_effective,
    baselines.random_baseline,
    parts.n_correct / nullif(parts.n_questions, 0) as share_right,
    if(parts.type = 'RQ', parts.right_offer_accuracy, null) as right_offer_accuracy,
    if(parts.type = 'RQ', parts.wrong_offer_accuracy, null) as wrong_offer_accuracy,
    parts.n_no_answer / nullif(parts.n_asked - parts.n_errors, 0) as no_answer_rate,
    parts.n_unfinished / nullif(parts.n_asked - parts.n_errors, 0) as unfinished_reasoning_rate,
    parts.n_errors,
    parts.n_errors / parts.n_asked as error_rate,
    estimates.inflation,
    estimates.n_rare
from parts
left join estimates on estimates.key = struct_pack(key := parts.run, parts.position, parts.part)
left join baselines
    on parts.edition_id = baselines.edition_id
    and parts.type = baselines.type
    and parts.is_negated is not distinct from baselines.is_negated
order by
    parts.edition_id, parts.setting, parts.model_id, parts.scoring_policy, parts.position, parts.part

-- Grain: one row per edition, two evaluations of questions, scoring policy, step and is_negated_included.
-- How far two models in one setting, or two settings of one model, differ in the share of mastered points as facets
-- are added in the paper's order (mastered_points); each two are compared once (match_points). difference = the
-- mastered_rate of the first − the other's, over the n_points that have all questions of the facets so far, all
-- graded for both. Under `excluded` the shares are null where these are less than 80 % of the points: they are the
-- models' own selection. The interval of each share has the clustering of all points of that evaluation.
-- mcnemar_p: McNemar's exact test (1947) with the base held fixed, of the points that only one of the two masters.
create table mastered_points_comparison as
with matches as (
    select
        matches.*,
        facet_sets.facet_set,
        facet_sets.is_negated_included,
        facet_sets.needed_bits,
        struct_pack(match_number, facet_set, is_negated_included) as key,
        (shared_bits & needed_bits = needed_bits)::integer as is_shared,
        is_shared * (correct_bits & needed_bits = needed_bits)::integer as mastered,
        is_shared * (other_correct_bits & needed_bits = needed_bits)::integer as other_mastered
    from match_points() as matches
    inner join facet_sets using (edition_id)
    where
        facet_sets.facets = (select list(facet order by place) from facets)[:facet_sets.n_facets]
        and asked_bits & other_asked_bits & needed_bits = needed_bits
),

observations as (
    select
        key,
        'mastered' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        (mastered > other_mastered)::integer as gained,
        (mastered < other_mastered)::integer as lost,
        1 as n
    from matches
    where is_shared = 1
),

differences as (
    from estimate_shares('observations')
),

measured as (
    select
        key,
        any_value(columns(['run', 'other_run', 'facet_set', 'is_negated_included'])),
        sum(is_shared)::bigint as n_points,
        n_points >= 0.8 * count(*) as is_representative,
        observe(mastered, is_shared) as score,
        observe(other_mastered, is_shared) as other_score,
        count(*) filter (where mastered > other_mastered) as n_mastered_alone,
        count(*) filter (where mastered < other_mastered) as n_other_mastered_alone
    from matches
    group by key
),

sized as (
    select
        measured.*,
        own.edition_id,
        own.setting,
        own.model_id,
        own.model,
        others.setting as other_setting,
        others.model_id as other_model_id,
        others.model as other_model,
        own.scoring_policy,
        own.no_answer_rate,
        others.no_answer_rate as other_no_answer_rate,
        own.error_rate,
        others.error_rate as other_error_rate,
        own.scoring_policy <> 'excluded' or is_representative as has_score,
        effective_n(measured.score, own.inflation, own.n_rare) as n_one,
        effective_n(measured.other_score, others.inflation, others.n_rare) as n_other
    from measured
    inner join mastered_scores as own using (run, facet_set, is_negated_included)
    inner join mastered_scores as others
        on measured.other_run = others.run
        and measured.facet_set = others.facet_set
        and measured.is_negated_included = others.is_negated_included
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
    facet_sets.n_facets as step,
    facet_sets.facets,
    sized.is_negated_included,
    sized.n_points,
    if(has_score, sized.score.share, null) as mastered_rate,
    if(has_score, wilson_low(sized.score.share, n_one), null) as mastered_rate_ci_low,
    if(has_score, wilson_high(sized.score.share, n_one), null) as mastered_rate_ci_high,
    if(has_score, sized.other_score.share, null) as other_mastered_rate,
    if(has_score, wilson_low(sized.other_score.share, n_other), null) as other_mastered_rate_ci_low,
    if(has_score, wilson_high(sized.other_score.share, n_other), null) as other_mastered_rate_ci_high,
    if(has_score, differences.share, null) as difference,
    if(has_score, differences.ci_low, null) as difference_ci_low,
    if(has_score, differences.ci_high, null) as difference_ci_high,
    differences.n_effective,
    sized.n_mastered_alone,
    sized.n_other_mastered_alone,
    if(has_score, mcnemar_p(n_mastered_alone, n_other_mastered_alone), null) as mcnemar_p,
    if(has_score, mcnemar_mid_p(n_mastered_alone, n_other_mastered_alone), null) as mcnemar_mid_p,
    sized.no_answer_rate,
    sized.other_no_answer_rate,
    sized.error_rate,
    sized.other_error_rate
from sized
inner join facet_sets using (edition_id, facet_set, is_negated_included)
left join differences using (key)
order by sized.key

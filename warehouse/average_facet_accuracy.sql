-- Grain: one row per edition, setting, model, scoring policy and is_negated (null: all questions).
-- average_accuracy: the mean of the accuracies of the facets (facet_accuracy), the macro average of the paper's
-- tables; each facet has the same weight. Null if a facet about which the edition asks has no accuracy.
-- random_baseline: likewise. n_points: the points that are counted in any facet.
-- The average is a mean of ratios, one per facet, and not the ratio of two sums over points that estimate_shares
-- takes. A point is therefore observed with its share of the questions of each facet (n) and of their right answers
-- (gained), in whole parts of which each facet has 10⁸, so that sums are exact. Where points lack questions of some
-- facets, gained also has average − accuracy of the facet for each of its shares: its residual gained − average · n
-- is then Σ (right − accuracy · asked) / asked in all over the facets, by which the point changes the average
-- (Taylor linearisation). These terms add up to 0 for a point with all questions.
-- n_most: to how many independent questions the weights of the facets amount, F² / Σ (1 / n_most of the facet) for
-- F facets; if no point has a residual, each point counts as one observation (intervals.sql, effective_n).
create table average_facet_accuracy as
with scores as (
    select *, run as key, correct_bits as gained_bits, null::ubigint as lost_bits
    from point_scores
),

observed as (
    select
        *,
        key.key as run,
        key.position as position,
        key.part as part,
        sum(n) over facet as facet_n,
        sum(gained) over facet / facet_n as facet_accuracy,
        sum(n_most) over facet as facet_most
    from observe_facets('scores')
    where n > 0
    window facet as (partition by key)
),

facet_counts as (
    select distinct run, part, position, facet_n, facet_accuracy, facet_most
    from observed
),

averages as (
    select
        run,
        part,
        count(*) as n_facets,
        favg(facet_accuracy) as average,
        count(*) ** 2 / sum(1 / facet_most) as n_most
    from facet_counts
    group by run, part
),

points as (
    select
        observed.run,
        observed.part,
        observed.point_id,
        any_value(columns(['head_cluster', 'positive_tail_cluster', 'negative_tail_cluster', 'average'])),
        any_value(averages.n_most / n_facets) as n_most_of_facet,
        sum(round(1e8 * n / facet_n)::bigint) as n,
        sum(round(1e8 * gained / facet_n)::bigint)
        + round(1e8 * sum((average - facet_accuracy) * n / facet_n))::bigint as gained
    from observed
    inner join averages using (run, part)
    group by observed.run, observed.part, observed.point_id
),

observations as (
    select
        struct_pack(run, part) as key,
        'average' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        gained,
        n,
        if(
            max(abs(gained - average * n)) over (partition by run, part) > 9,
            n_most_of_facet * n / 1e8,
            1
        ) as n_most
    from points
),

estimates as (
    from estimate_shares('observations')
),

scored as (
    select
        run,
        edition_id, setting, model_id, model, scoring_policy,
        is_negated,
        case is_negated when false then 0 when true then 1 else 2 end as part,
        count(*) as n_facets,
        sum(n_questions)::bigint as n_questions,
        favg(random_baseline) as random_baseline,
        bool_and(accuracy is not null) as has_score,
        favg(accuracy) as average
    from facet_accuracy
    group by all
),

asked as (
    select edition_id, is_negated, count(distinct type) as n_facets
    from question_slots
    group by grouping sets ((edition_id, is_negated), (edition_id))
)

select
    scored.edition_id, scored.setting, scored.model_id, scored.model, scored.scoring_policy,
    scored.is_negated,
    scored.n_facets,
    scored.n_questions,
    coalesce(estimates.n_pairs, 0) as n_points,
    scored.has_score and scored.n_facets = asked.n_facets as is_whole,
    if(is_whole, scored.average, null) as average_accuracy,
    if(is_whole, estimates.ci_low, null) as average_accuracy_ci_low,
    if(is_whole, estimates.ci_high, null) as average_accuracy_ci_high,
    if(is_whole, estimates.fixed_base_ci_low, null) as average_accuracy_fixed_base_ci_low,
    if(is_whole, estimates.fixed_base_ci_high, null) as average_accuracy_fixed_base_ci_high,
    estimates.n_effective,
    scored.random_baseline
from scored
left join estimates on estimates.key = struct_pack(scored.run, scored.part)
left join asked
    on scored.edition_id = asked.edition_id and scored.is_negated is not distinct from asked.is_negated
order by scored.edition_id, scored.setting, scored.model_id, scored.scoring_policy, scored.part

-- Grain: one row per edition, setting, model, scoring policy, repeat of the samples and is_negated_included.
-- Do the two methods find the same facts known? The table of n_pairs pairs that are complete in both
-- (facets_and_transformations): n_both are mastered by all facets and by all transformations, n_facets_only and
-- n_transformations_only by one of them, n_neither by none.
-- facets_rate, transformations_rate: the shares mastered by all facets, and by all transformations, each with its
-- 95 % interval for new facts like these. agreement: (n_both + n_neither) / n_pairs. kappa: Cohen's (1960), the
-- agreement above chance; phi: the correlation of the two. Both are null where one method finds the same of all.
-- Without knowledge, guessing correctly is far more likely over 16 samples of one pair that are answered
-- consistently (25 %) than over all questions of a point: a lower facets_rate alone does not show that less is known.
create or replace view facets_transformations_agreement as
with complete as materialized (
    select
        *,
        is_mastered_by_facets::integer as by_facets,
        is_mastered_by_transformations::integer as by_transformations,
        {'run': run, 'repeat': repeat, 'is_negated_included': is_negated_included} as key
    from join_methods()
    where is_mastered_by_facets is not null and is_mastered_by_transformations is not null
),

observations as (
    select
        key,
        unnest(['facets', 'transformations']) as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        unnest([by_facets, by_transformations]) as gained,
        1 as n
    from complete
),

estimates as materialized (
    from estimate_shares('observations')
),

counted as (
    select
        key,
        any_value(columns(['edition_id', 'setting', 'model_id', 'model', 'scoring_policy'])),
        count(*) as n_pairs,
        sum(by_facets * by_transformations)::bigint as n_both,
        sum(by_facets * (1 - by_transformations))::bigint as n_facets_only,
        sum((1 - by_facets) * by_transformations)::bigint as n_transformations_only,
        sum((1 - by_facets) * (1 - by_transformations))::bigint as n_neither,
        (n_both + n_facets_only)::double as n_by_facets,
        (n_both + n_transformations_only)::double as n_by_transformations
    from complete
    group by key
)

select
    counted.edition_id, counted.setting, counted.model_id, counted.model, counted.scoring_policy,
    counted.key.repeat as repeat,
    counted.key.is_negated_included as is_negated_included,
    counted.n_pairs,
    counted.n_both,
    counted.n_facets_only,
    counted.n_transformations_only,
    counted.n_neither,
    by_facets.share as facets_rate,
    by_facets.ci_low as facets_rate_ci_low,
    by_facets.ci_high as facets_rate_ci_high,
    by_transformations.share as transformations_rate,
    by_transformations.ci_low as transformations_rate_ci_low,
    by_transformations.ci_high as transformations_rate_ci_high,
    by_facets.n_effective,
    (n_both + n_neither) / counted.n_pairs as agreement,
    (n_by_facets * n_by_transformations + (counted.n_pairs - n_by_facets) * (counted.n_pairs - n_by_transformations)) / counted.n_pairs ** 2
        as expected_agreement,
    (agreement - expected_agreement) / nullif(1 - expected_agreement, 0) as kappa,
    (n_both * n_neither - n_facets_only * n_transformations_only)
    / nullif(
        sqrt(
            n_by_facets * (counted.n_pairs - n_by_facets)
            * n_by_transformations * (counted.n_pairs - n_by_transformations)
        ),
        0
    ) as phi,
    rates.no_answer_rate,
    rates.unfinished_reasoning_rate,
    rates.n_errors,
    rates.error_rate
from counted
inner join estimates as by_facets on counted.key = by_facets.key and by_facets.measure = 'facets'
inner join estimates as by_transformations
    on counted.key = by_transformations.key and by_transformations.measure = 'transformations'
inner join mastered_scores as rates
    on
        counted.key.run = rates.run
        and counted.key.is_negated_included = rates.is_negated_included
inner join facet_sets
    on
        rates.edition_id = facet_sets.edition_id
        and rates.facet_set = facet_sets.facet_set
        and rates.is_negated_included = facet_sets.is_negated_included
qualify rank() over (partition by counted.key order by facet_sets.n_facets desc) = 1
order by
    counted.edition_id, counted.setting, counted.model, counted.model_id, counted.scoring_policy,
    counted.key.repeat, counted.key.is_negated_included

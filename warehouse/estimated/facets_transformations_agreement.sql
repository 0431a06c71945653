-- Grain: one row per edition, setting, model, scoring policy, repeat of the samples and is_negated_included.
-- Do the two methods find the same facts known? The table of n_pairs pairs that are complete in both (point_mastery,
-- pair_scores): n_both are mastered by all facets and by all transformations, n_facets_only and
-- n_transformations_only by one of them, n_neither by none.
-- facets_rate, transformations_rate: the shares mastered by all facets, and by all transformations, each with its
-- 95 % interval for new facts like these. agreement: (n_both + n_neither) / n_pairs. kappa: Cohen's (1960), the
-- agreement above chance; phi: the correlation of the two. Both are null where one method finds the same of all.
-- Without knowledge, guessing correctly is far more likely over 16 samples of one pair that are answered
-- consistently (25 %) than over all questions of a point: a lower facets_rate alone does not show that less is known.
-- no_answer_rate, …: over all questions of the evaluation.
create or replace temp table complete as
select
    {'run': points.run, 'repeat': pairs.repeat, 'is_negated_included': points.is_negated_included} as key,
    points.head_cluster, points.positive_tail_cluster, points.negative_tail_cluster,
    points.is_mastered::integer as by_facets,
    pairs.is_mastered::integer as by_transformations
from point_mastery as points
inner join pair_scores as pairs using (edition_id, model_id, scoring_policy, pair_id)
where pairs.method = 'pretexeval' and points.is_mastered is not null and pairs.is_complete;

create or replace temp table observations as
select
    key,
    unnest(['facets', 'transformations']) as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    unnest([by_facets, by_transformations]) as gained,
    1 as n
from complete;

-- The estimates of these observations are computed here (estimation.py).
create table facets_transformations_agreement as
with counted as (
    select
        key,
        count(*) as n_pairs,
        count(*) filter (where by_facets = 1 and by_transformations = 1) as n_both,
        count(*) filter (where by_facets = 1 and by_transformations = 0) as n_facets_only,
        count(*) filter (where by_facets = 0 and by_transformations = 1) as n_transformations_only,
        count(*) filter (where by_facets = 0 and by_transformations = 0) as n_neither,
        avg(by_facets) as p,
        avg(by_transformations) as q,
        (n_both + n_neither) / n_pairs as agreement,
        p * q + (1 - p) * (1 - q) as expected_agreement,
        (agreement - expected_agreement) / nullif(1 - expected_agreement, 0) as kappa,
        (n_both / n_pairs - p * q) / nullif(sqrt(p * (1 - p) * q * (1 - q)), 0) as phi
    from complete
    group by key
)

select
    answered.edition_id, answered.setting, answered.model_id, answered.model, answered.scoring_policy,
    counted.key.repeat as repeat,
    counted.key.is_negated_included as is_negated_included,
    counted.n_pairs,
    counted.n_both, counted.n_facets_only, counted.n_transformations_only, counted.n_neither,
    by_facets.share as facets_rate,
    by_facets.ci_low as facets_rate_ci_low, by_facets.ci_high as facets_rate_ci_high,
    by_transformations.share as transformations_rate,
    by_transformations.ci_low as transformations_rate_ci_low,
    by_transformations.ci_high as transformations_rate_ci_high,
    by_facets.n_effective,
    counted.agreement, counted.expected_agreement, counted.kappa, counted.phi,
    answered.no_answer_rate, answered.unfinished_reasoning_rate, answered.refused_rate,
    answered.n_errors, answered.error_rate
from counted
inner join facet_accuracy as answered
    on counted.key.run = answered.run
    and answered.facet is null
    and answered.is_negated is not distinct from case when not counted.key.is_negated_included then false end
inner join estimates as by_facets on counted.key = by_facets.key and by_facets.measure = 'facets'
inner join estimates as by_transformations
    on counted.key = by_transformations.key and by_transformations.measure = 'transformations'
order by
    answered.edition_id, answered.setting, answered.model, answered.model_id, answered.scoring_policy,
    counted.key.repeat, counted.key.is_negated_included

-- Grain: one row per edition, two evaluations of questions, scoring policy, step and is_negated_included.
-- How far two models in one setting, or two settings of one model, differ in the share of mastered points as facets
-- are added in the paper's order (mastered_points); each two are compared once (match_runs). difference = the
-- mastered_rate of the first − the other's, over the n_points that have all questions of the facets so far, all
-- graded for both. Under `excluded` the shares are null where these are less than 80 % of the points: they are the
-- models' own selection. mastered_points has the intervals of each share over its own points.
-- mcnemar_p: McNemar's exact test (1947) with the base held fixed, of the points that only one of the two masters.
create or replace temp table matched as
select
    matches.*,
    unnest(range(1, least(one.n_whole_facets, other.n_whole_facets) + 1)) as step,
    is_negated_included, one.scoring_policy,
    hash(matches.run, matches.other_run, step, is_negated_included) as key,
    one.head_cluster, one.positive_tail_cluster, one.negative_tail_cluster,
    least(one.n_graded_facets, other.n_graded_facets) >= step as is_graded,
    (one.n_mastered_facets >= step)::integer as mastered,
    (other.n_mastered_facets >= step)::integer as other_mastered
from match_runs() as matches
inner join point_mastery as one on matches.run = one.run
inner join point_mastery as other using (point_id, is_negated_included)
where matches.other_run = other.run;

create or replace temp table observations as
select
    key, 'mastered' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
    (mastered > other_mastered)::integer as gained, (mastered < other_mastered)::integer as lost, 1 as n
from matched
where is_graded;

-- The estimates of these observations are computed here (estimation.py).
create table mastered_points_comparison as
with counted as (
    select
        key,
        any_value(columns(['run', 'other_run', 'step', 'is_negated_included'])),
        count(*) filter (is_graded) as n_points,
        any_value(scoring_policy) <> 'excluded' or n_points >= 0.8 * count(*) as has_score,
        avg(mastered) filter (is_graded) as mastered_rate,
        avg(other_mastered) filter (is_graded) as other_mastered_rate,
        count(*) filter (is_graded and mastered > other_mastered) as n_mastered_alone,
        count(*) filter (is_graded and mastered < other_mastered) as n_other_mastered_alone
    from matched
    group by key
)

select
    one.edition_id, one.setting, one.model_id, one.model,
    other.setting as other_setting, other.model_id as other_model_id, other.model as other_model,
    one.scoring_policy, step, one.facets, is_negated_included,
    counted.n_points,
    case when has_score then counted.mastered_rate end as mastered_rate,
    case when has_score then counted.other_mastered_rate end as other_mastered_rate,
    case when has_score then share end as difference,
    case when has_score then ci_low end as difference_ci_low,
    case when has_score then ci_high end as difference_ci_high,
    case when has_score then differences.p_value end as p_value,
    differences.n_effective,
    n_mastered_alone, n_other_mastered_alone,
    case when has_score then mcnemar_p(n_mastered_alone, n_other_mastered_alone) end as mcnemar_p,
    case when has_score then mcnemar_mid_p(n_mastered_alone, n_other_mastered_alone) end as mcnemar_mid_p
from counted
inner join mastered_points as one using (run, step, is_negated_included)
inner join mastered_points as other using (step, is_negated_included)
left join estimates as differences using (key)
where counted.other_run = other.run
order by
    one.edition_id, one.setting, one.model_id, other.setting, other.model_id, one.scoring_policy, step,
    is_negated_included

-- Grain: one row per edition, setting, model, scoring policy, is_negated_included and taught_with.
-- What `taught` in accuracy_by_group is for samples: a check of the measurement on the points that a reference model
-- was taught or not taught (taught_points). mastered_rate is the share of points mastered by all facets of the edition
-- (point_mastery), of the n_points that have all questions of them, all graded. It should be near 0 of the points that
-- the model was not taught, because a guesser would have to be right up to ten times in a row. Of those that it was
-- taught, it masters as many as it has learned in every form (docs/rephrasing.md).
-- Only relations whose facts are still those that the model was taught are counted. Models without a list of known
-- heads have no rows. Under `excluded` the share is null where more than a fifth of the points is not graded.
create or replace temp table points as
select
    {'run': run, 'is_negated_included': is_negated_included, 'taught_with': taught_with} as key,
    point_mastery.*,
    taught_points.is_known,
    taught_points.taught_with
from point_mastery
inner join storage.taught_points using (edition_id, model_id, point_id)
where taught_points.is_as_taught and point_mastery.is_whole;

create or replace temp table observations as
select
    key,
    'mastered' as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    is_mastered::integer as gained,
    1 as n
from points
where is_mastered is not null;

-- The estimates of these observations are computed here (estimation.py).
create table known_facets as
with counted as (
    select
        key,
        edition_id, setting, model_id, model, scoring_policy, is_negated_included, is_known, taught_with,
        count(is_mastered) as n_points,
        scoring_policy <> 'excluded' or n_points >= 0.8 * count(*) as has_score
    from points
    group by
        key, edition_id, setting, model_id, model, scoring_policy, is_negated_included, is_known, taught_with
)

select
    counted.edition_id, counted.setting, counted.model_id, counted.model, counted.scoring_policy,
    counted.is_negated_included, counted.is_known, counted.taught_with,
    counted.n_points,
    case when counted.has_score then estimates.share end as mastered_rate,
    case when counted.has_score then estimates.ci_low end as mastered_rate_ci_low,
    case when counted.has_score then estimates.ci_high end as mastered_rate_ci_high,
    estimates.n_effective
from counted
left join estimates using (key)
order by
    counted.edition_id, counted.setting, counted.model, counted.model_id, counted.scoring_policy,
    counted.is_negated_included, counted.is_known desc, counted.taught_with desc

-- Grain: one row per edition, setting, model, policy, taught_with (null: all points), step and is_negated_included.
-- The share of mastered points p(M) (MultifacetEval, equations 2 and 3; figure 6): a point is mastered if all its
-- questions of the facets are right (point_mastery). Step k has the first k facets of the edition in the paper's order
-- comparison, verification, rectification, discrimination.
-- The paper leaves negated questions out (is_negated_included is false).
-- n_points: the points that have every question that the edition asks about a point in these facets, all of them
-- graded. n_incomplete_points: those that lack a question, such as a negated one for which the base has too few
-- facts. left_out_rate: under `excluded` the shares are null where it is above 0.2, because the rest is the model's own
-- selection. Intervals as in facet_accuracy, which also says how many questions have no answer.
-- taught_with is what `taught` in accuracy_by_group is for samples: a check of the measurement on the points that a
-- reference model was taught with sentences of the `pool`, with `other` ones, or not at all (`nothing`;
-- storage.taught_points), by all facets. mastered_rate should be near 0 of the points that it was not taught, because
-- a guesser would have to be right up to ten times in a row. Of the others, it masters as many as it has learned in
-- every form (docs/rephrasing.md). Only relations whose facts are still those that the model was taught are counted.
-- A table, because the estimates of 12 models × 17,000 points take longer than a view may.
create or replace temp table scored as
with points as (
    from point_mastery
    union all by name
    select point_mastery.*, taught_with
    from point_mastery
    inner join storage.taught_points using (edition_id, model_id, point_id)
    where is_as_taught
),

asked as (
    select distinct edition_id, facet
    from questions
    where split = 'test'
),

steps as (
    select
        edition_id,
        list(facet) over (partition by edition_id order by place_facet(facet)) as facets,
        len(facets) as step,
        step = count(*) over (partition by edition_id) as is_last
    from asked
)

select
    hash(run, taught_with, step, is_negated_included) as key,
    *,
    n_whole_facets >= step as has_facets,
    n_graded_facets >= step as is_graded,
    n_mastered_facets >= step as is_right
from points
inner join steps using (edition_id)
where taught_with is null or is_last;

create or replace temp table observations as
select
    key, 'mastered' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
    is_right::integer as gained, 1 as n
from scored
where is_graded;

-- The estimates of these observations are computed here (estimation.py).
create table mastered_points as
with counted as (
    select
        key,
        any_value(columns([
            'run', 'edition_id', 'setting', 'model_id', 'model', 'scoring_policy', 'taught_with', 'step', 'facets',
            'is_negated_included'
        ])),
        count(*) filter (is_graded) as n_points,
        count(*) filter (not has_facets) as n_incomplete_points,
        1 - n_points / nullif(count(*) - n_incomplete_points, 0) as left_out_rate,
        any_value(scoring_policy) <> 'excluded' or left_out_rate <= 0.2 as has_score,
        count(*) filter (is_right) as n_mastered
    from scored
    group by key
)

-- shown: the estimate, if the policy shows it.
select
    edition_id, setting, model_id, model, scoring_policy, run, taught_with, step, facets, is_negated_included,
    n_points, n_incomplete_points, left_out_rate,
    case when has_score then n_mastered end as n_mastered,
    case when has_score then n_mastered / nullif(n_points, 0) end as mastered_rate,
    shown.ci_low as mastered_rate_ci_low, shown.ci_high as mastered_rate_ci_high,
    shown.fixed_base_ci_low as mastered_rate_fixed_base_ci_low,
    shown.fixed_base_ci_high as mastered_rate_fixed_base_ci_high,
    estimates.n_effective
from counted
left join estimates using (key)
left join estimates as shown on counted.key = shown.key and has_score
order by
    edition_id, setting, model_id, scoring_policy, step, is_negated_included,
    list_position(['pool', 'other', 'nothing'], taught_with) nulls first

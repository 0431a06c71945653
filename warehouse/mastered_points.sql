-- Grain: one row per edition, setting, model, scoring policy, set of facets and is_negated_included.
-- The share of mastered points p(M) (MultifacetEval, equations 2 and 3; figure 6): a point is mastered if all its
-- questions of these facets are right (point_mastery). is_paper_order: the facets are the first ones of the paper's
-- order comparison, verification, rectification, discrimination, step says how many. The sets of every other order in
-- which facets can be added have rows, too. is_negated_included: whether the negated questions must be right, too; the
-- paper leaves them out.
-- n_points: the points that have every question that the edition asks about a point in these facets, all of them
-- graded. n_incomplete_points: those that lack a question, such as a negated one for which the base has too few
-- facts. left_out_rate: of the points that lack none, the share with a question that is not graded; under
-- `excluded` the shares are null where it is above 0.2, because the rest is the model's own selection.
-- mastered_rate: p(M), n_mastered of the n_points. Intervals as in facet_accuracy. no_answer_rate, …: over the
-- questions of these facets. An edition without questions of a facet has no rows for the sets with that facet.
-- A table, because 30 estimates for each of 12 models × 17,000 points take longer than a view may.
create table mastered_points as
with recursive asked as (
    select distinct questions.edition_id, facets.facet, facets.place
    from questions
    semi join storage.scope using (edition_id)
    inner join facets using (facet)
    where questions.split = 'test'
),

sets as (
    select distinct edition_id, []::varchar[] as facets, -1 as last_place, 0 as step
    from asked
    union all
    select sets.edition_id, list_append(sets.facets, asked.facet), asked.place, sets.step + 1
    from sets
    inner join asked on sets.edition_id = asked.edition_id and sets.last_place < asked.place
),

scored as (
    select
        hash(points.run, sets.facets, points.is_negated_included) as key,
        points.run,
        points.edition_id, points.setting, points.model_id, points.model, points.scoring_policy,
        points.is_negated_included,
        points.head_cluster, points.positive_tail_cluster, points.negative_tail_cluster,
        sets.facets,
        sets.step,
        sets.last_place = sets.step - 1 as is_paper_order,
        list_has_all(points.whole_facets, sets.facets) as is_whole,
        list_has_all(points.graded_facets, sets.facets) as is_graded,
        list_has_all(points.mastered_facets, sets.facets) as is_mastered
    from point_mastery as points
    semi join storage.scope using (edition_id)
    inner join sets using (edition_id)
    where sets.step > 0
),

observations as (
    select
        key,
        'mastered' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        is_mastered::integer as gained,
        1 as n
    from scored
    where is_graded
),

estimates as (
    from estimate_shares('observations')
),

counted as (
    select
        key,
        any_value(columns([
            'run', 'edition_id', 'setting', 'model_id', 'model', 'scoring_policy', 'is_negated_included',
            'facets', 'step', 'is_paper_order'
        ])),
        count(*) filter (where is_whole) as n_whole_points,
        count(*) filter (where is_graded) as n_points,
        count(*) filter (where is_mastered) as n_mastered,
        count(*) filter (where not is_whole) as n_incomplete_points,
        1 - n_points / nullif(n_whole_points, 0) as left_out_rate,
        any_value(scoring_policy) <> 'excluded' or left_out_rate <= 0.2 as has_score
    from scored
    group by key
),

answered as (
    select
        run, facet, is_negated,
        sum(columns(['n_asked', 'n_failed', 'n_unanswered', 'n_unfinished']))::bigint
    from point_scores
    semi join storage.scope using (edition_id)
    group by all
),

answered_sets as (
    select
        counted.key,
        sum(n_failed)::bigint as n_errors,
        share(n_failed, n_asked) as error_rate,
        share(n_unanswered, n_asked - n_failed) as no_answer_rate,
        share(n_unfinished, n_asked - n_failed) as unfinished_reasoning_rate
    from counted
    inner join answered
        on counted.run = answered.run
        and list_contains(counted.facets, answered.facet)
        and (counted.is_negated_included or not answered.is_negated)
    group by counted.key
)

select
    counted.edition_id, counted.setting, counted.model_id, counted.model, counted.scoring_policy,
    counted.run,
    counted.facets, counted.step, counted.is_paper_order, counted.is_negated_included,
    counted.n_points, counted.n_incomplete_points, counted.left_out_rate,
    case when counted.has_score then counted.n_mastered end as n_mastered,
    case when counted.has_score then estimates.share end as mastered_rate,
    case when counted.has_score then estimates.ci_low end as mastered_rate_ci_low,
    case when counted.has_score then estimates.ci_high end as mastered_rate_ci_high,
    case when counted.has_score then estimates.fixed_base_ci_low end as mastered_rate_fixed_base_ci_low,
    case when counted.has_score then estimates.fixed_base_ci_high end as mastered_rate_fixed_base_ci_high,
    estimates.n_effective,
    answered_sets.no_answer_rate, answered_sets.unfinished_reasoning_rate,
    answered_sets.n_errors, answered_sets.error_rate
from counted
inner join answered_sets using (key)
left join estimates on counted.key = estimates.key
order by
    counted.edition_id, counted.setting, counted.model_id, counted.scoring_policy,
    counted.is_paper_order desc, counted.step, counted.facets, counted.is_negated_included

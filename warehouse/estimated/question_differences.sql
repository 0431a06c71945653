-- Adds the comparisons of answers to questions to differences: two models in one setting, or two settings of one
-- model. part is a facet, or the facets so far in the paper's order (mastered_points); measure is one of:
-- `accuracy`: of the questions of a facet, negated or not, that are graded for both. Of RQ it is the debiased accuracy,
-- so that n_gained − n_lost is not the difference of n_observations questions (macros.sql).
-- `mastered_rate`, `mastered_negated_rate`: of the points that have all questions of the facets so far, without and with
-- the negated ones, all graded for both. Under `excluded` there is no row where these are less than 80 % of the points,
-- because the rest is the models' own selection.
create or replace temp table compared as
with asked as (
    select
        run, edition_id, setting, model_id, model, scoring_policy,
        list(distinct facet order by place_facet(facet)) as facets
    from point_scores
    group by all
)

-- Where both have all facets so far, these are the first ones of each.
select
    one.*,
    other.run as other_run, other.setting as other_setting, other.model_id as other_model_id, other.model as other_model
from asked as one
inner join asked as other using (edition_id, scoring_policy)
where
    (one.setting, one.model_id) < (other.setting, other.model_id)
    and (one.setting = other.setting or one.model_id = other.model_id);

-- The joins have millions of rows, so runs, questions and points are named by hashes.
create or replace temp table units as
with answered as (
    select
        hash(edition_id, setting, model_id, scoring_policy) as run,
        hash(edition_id, question_id) as question, hash(edition_id, point_id) as point,
        facet, type, is_negated,
        questions.answer like 'F|%' as is_wrong_offered, len(options) as n_options, is_correct as is_right
    from (select *, item_id as question_id from answers where kind = 'questions' and repeat = 0)
    inner join questions using (edition_id, question_id)
    where is_correct is not null and split = 'test'
),

matched as (
    select
        compared.run, compared.other_run,
        one.* exclude (run, question),
        one.is_right and not other.is_right as is_gained,
        other.is_right and not one.is_right as is_lost
    from compared
    inner join answered as one on compared.run = one.run
    inner join answered as other on compared.other_run = other.run and one.question = other.question
),

-- Only the questions of one form of RQ are weighed together (macros.sql).
weighed as (
    select
        run, other_run, facet, point,
        count(*) as n_observations,
        count(*) filter (is_gained) as n_gained, count(*) filter (is_lost) as n_lost,
        parts_right(is_right, type, is_wrong_offered, n_options) as right_parts,
        parts_right(is_gained, type, is_wrong_offered, n_options) as gained,
        parts_right(is_lost, type, is_wrong_offered, n_options) as lost,
        parts_asked(is_right, type, is_wrong_offered) as n,
        independent_questions(is_right, type, is_wrong_offered, n_options) as n_most
    from matched
    group by run, other_run, facet, point, case when type = 'RQ' then is_negated end
),

mastered as (
    select
        compared.run, compared.other_run, is_negated_included,
        hash(one.edition_id, one.point_id) as point,
        unnest(range(1, least(one.n_whole_facets, other.n_whole_facets) + 1)) as step,
        least(one.n_graded_facets, other.n_graded_facets) >= step as is_graded,
        is_graded and one.n_mastered_facets >= step as is_right,
        is_graded and other.n_mastered_facets >= step as is_other_right
    from compared
    inner join point_mastery as one on compared.run = one.run
    inner join point_mastery as other using (point_id, is_negated_included)
    where compared.other_run = other.run
)

select
    run, other_run, facet, point,
    sum(columns(['n_observations', 'n_gained', 'n_lost', 'right_parts', 'gained', 'lost', 'n']))::integer,
    sum(n_most) as n_most
from weighed
group by run, other_run, facet, point
union all by name
select
    run, other_run, step, is_negated_included, point,
    is_graded::integer as n_observations,
    (is_right > is_other_right)::integer as n_gained, (is_right < is_other_right)::integer as n_lost,
    is_right::integer as right_parts, n_gained as gained, n_lost as lost, n_observations as n
from mastered;

create or replace temp table observations as
select
    hash(run, other_run, facet, step, is_negated_included) as key, 'right' as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    gained, lost, n, n_most
from units
inner join storage.point_clusters as clusters on units.point = hash(clusters.edition_id, clusters.point_id);

-- The estimates of these observations are computed here (estimation.py).
insert into differences by name
with counted as (
    select
        run, other_run, facet, step, is_negated_included,
        count(*) as n_matched,
        sum(n_observations)::bigint as n_observations,
        sum(right_parts) / nullif(sum(n), 0) as score,
        sum(right_parts - gained + lost) / nullif(sum(n), 0) as other_score,
        sum(n_gained)::bigint as n_gained, sum(n_lost)::bigint as n_lost,
        count(*) filter (gained > lost) as n_gained_pairs, count(*) filter (gained < lost) as n_lost_pairs
    from units
    group by run, other_run, facet, step, is_negated_included
)

select
    'questions' as comparison,
    compared.* exclude (facets),
    compared.edition_id as other_edition_id,
    coalesce(facet, array_to_string(facets[:counted.step], ', ')) as part,
    case
        when facet is not null then 'accuracy'
        when is_negated_included then 'mastered_negated_rate'
        else 'mastered_rate'
    end as measure,
    counted.* exclude (run, other_run, facet, step, is_negated_included),
    estimates.n_pairs,
    share as difference, ci_low as difference_ci_low, ci_high as difference_ci_high,
    fixed_base_ci_low as difference_fixed_base_ci_low, fixed_base_ci_high as difference_fixed_base_ci_high,
    p_value, n_effective,
    case when facet is null then mcnemar_p(n_gained, n_lost) end as mcnemar_p,
    case when facet is null then mcnemar_mid_p(n_gained, n_lost) end as mcnemar_mid_p
from counted
inner join compared using (run, other_run)
inner join estimates on estimates.key = hash(run, other_run, facet, step, is_negated_included)
where facet is not null or scoring_policy <> 'excluded' or counted.n_observations >= 0.8 * n_matched
order by
    compared.edition_id, setting, model_id, other_setting, other_model_id, scoring_policy,
    is_negated_included nulls first, counted.step, place_facet(facet)

-- Grain: one row per edition, two evaluations of questions, scoring policy and facet.
-- How far two models in one setting, or two settings of one model, differ on the questions of a facet, negated or
-- not; each two are compared once (match_runs). difference = the accuracy of the first − the other's, over the
-- n_questions that are graded for both. The accuracy of RQ is the debiased one. facet_accuracy has the accuracy of
-- each over its own questions, and its no_answer_rate and error_rate, which are shown here as well.
create or replace temp table points as
with -- The joins have millions of rows, so runs, questions and points are named by hashes.
answered as (
    select
        hash(edition_id, setting, model_id, scoring_policy) as run,
        hash(edition_id, question_id) as question, hash(edition_id, point_id) as point,
        position, type, is_negated,
        questions.answer like 'F|%' as is_wrong_offered, len(options) as n_options, is_correct as is_right
    from (select *, item_id as question_id from answers where kind = 'questions' and repeat = 0)
    inner join questions using (edition_id, question_id)
    inner join facets using (type)
    where is_correct is not null and split = 'test'
),

matched as (
    select
        matches.*,
        one.* exclude (run, question),
        one.is_right and not other.is_right as is_gained,
        other.is_right and not one.is_right as is_lost
    from match_runs() as matches
    inner join answered as one on matches.run = one.run
    inner join answered as other on matches.other_run = other.run and one.question = other.question
),

-- Only the questions of one form of RQ are weighed together (macros.sql).
weighed as (
    select
        run, other_run, position, point,
        1 as n_questions, is_gained::integer as gained, is_lost::integer as lost, 1 as n, 1.0 as n_most
    from matched
    where type <> 'RQ'
    union all
    select
        run, other_run, position, point,
        count(*) as n_questions,
        parts_right(is_gained, 'RQ', is_wrong_offered, n_options) as gained,
        parts_right(is_lost, 'RQ', is_wrong_offered, n_options) as lost,
        parts_asked(is_gained, 'RQ', is_wrong_offered) as n,
        independent_questions(is_gained, 'RQ', is_wrong_offered, n_options) as n_most
    from matched
    where type = 'RQ'
    group by run, other_run, position, point, is_negated
)

select
    run, other_run, position, point,
    sum(columns(['n_questions', 'gained', 'lost', 'n']))::integer,
    sum(n_most) as n_most
from weighed
group by run, other_run, position, point;

create or replace temp table observations as
select
    hash(run, other_run, position) as key, 'accuracy' as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    gained, lost, n, n_most
from points
inner join storage.point_clusters as clusters on points.point = hash(clusters.edition_id, clusters.point_id);

-- The estimates of these observations are computed here (estimation.py).
create table facet_comparison as
with counted as (
    select run, other_run, position, sum(n_questions)::bigint as n_questions
    from points
    group by run, other_run, position
)

select
    one.edition_id, one.setting, one.model_id, one.model,
    other.setting as other_setting, other.model_id as other_model_id, other.model as other_model,
    one.scoring_policy, one.facet, one.type,
    counted.n_questions, differences.n_pairs as n_points,
    share as difference, ci_low as difference_ci_low, ci_high as difference_ci_high,
    differences.p_value, differences.n_effective,
    one.no_answer_rate, other.no_answer_rate as other_no_answer_rate,
    one.error_rate, other.error_rate as other_error_rate
from counted
inner join facets using (position)
inner join facet_accuracy as one
    on counted.run = one.run and facets.facet = one.facet and one.is_negated is null
inner join facet_accuracy as other
    on counted.other_run = other.run and facets.facet = other.facet and other.is_negated is null
left join estimates as differences
    on differences.key = hash(counted.run, counted.other_run, counted.position)
order by
    one.edition_id, one.setting, one.model_id, other.setting, other.model_id, one.scoring_policy, facets.position

-- Grain: one row per edition, two evaluations of questions, scoring policy and facet.
-- How far two models in one setting, or two settings of one model, differ on the questions of a facet, negated or
-- not; each two are compared once (match_runs). difference = the accuracy of the first − the other's, over the
-- n_questions that are graded for both. The accuracy of RQ is the debiased one. facet_accuracy has the intervals of
-- each accuracy over its own questions. no_answer_rate, …: those of facet_accuracy.
create table facet_comparison as
with answered as (
    select
        hash(edition_id, predictions.setting, predictions.model_id, predictions.scoring_policy) as run,
        edition_id,
        question_id,
        questions.point_id,
        questions.facet,
        questions.type,
        questions.is_negated,
        questions.answer like 'F|%' as is_wrong_offered,
        len(questions.options) as n_options,
        predictions.is_correct as is_right
    from question_predictions as predictions
    inner join questions using (edition_id, question_id)
    where predictions.is_correct is not null and questions.split = 'test'
),

matched as (
    select
        matches.run,
        matches.other_run,
        one.* exclude (run),
        other.is_right as other_is_right
    from match_runs() as matches
    inner join answered as one on matches.run = one.run
    inner join answered as other on matches.other_run = other.run and one.question_id = other.question_id
),

forms as (
    select
        run, other_run, edition_id, facet, point_id, is_negated,
        count(*) as n_questions,
        parts_right(is_right, type, is_wrong_offered, n_options) as n_right_parts,
        parts_right(other_is_right, type, is_wrong_offered, n_options) as n_other_right_parts,
        parts_right(is_right and not other_is_right, type, is_wrong_offered, n_options) as gained,
        parts_right(other_is_right and not is_right, type, is_wrong_offered, n_options) as lost,
        parts_asked(is_right, type, is_wrong_offered) as n,
        independent_questions(is_right, type, is_wrong_offered, n_options) as n_most
    from matched
    group by run, other_run, edition_id, facet, point_id, is_negated
),

points as (
    select
        run, other_run, edition_id, facet, point_id,
        sum(columns(['n_questions', 'n_right_parts', 'n_other_right_parts', 'gained', 'lost', 'n']))::integer,
        sum(n_most) as n_most
    from forms
    group by run, other_run, edition_id, facet, point_id
),

observations as (
    select
        hash(points.run, points.other_run, points.facet) as key,
        'accuracy' as measure,
        clusters.head_cluster, clusters.positive_tail_cluster, clusters.negative_tail_cluster,
        points.gained, points.lost, points.n, points.n_most
    from points
    inner join point_clusters as clusters using (edition_id, point_id)
),

differences as (
    from estimate_shares('observations')
),

counted as (
    select
        run, other_run, facet,
        sum(n_questions)::bigint as n_questions,
        share(n_right_parts, n) as accuracy,
        share(n_other_right_parts, n) as other_accuracy
    from points
    group by run, other_run, facet
)

select
    one.edition_id,
    one.setting, one.model_id, one.model,
    other.setting as other_setting, other.model_id as other_model_id, other.model as other_model,
    one.scoring_policy,
    counted.facet,
    one.type,
    counted.n_questions,
    differences.n_pairs as n_points,
    counted.accuracy,
    counted.other_accuracy,
    differences.share as difference,
    differences.ci_low as difference_ci_low,
    differences.ci_high as difference_ci_high,
    differences.n_effective,
    one.no_answer_rate,
    other.no_answer_rate as other_no_answer_rate,
    one.error_rate,
    other.error_rate as other_error_rate
from counted
inner join facets using (facet)
inner join facet_accuracy as one
    on counted.run = one.run and counted.facet = one.facet and one.is_negated is null
inner join facet_accuracy as other
    on counted.other_run = other.run and counted.facet = other.facet and other.is_negated is null
left join differences on differences.key = hash(counted.run, counted.other_run, counted.facet)
order by
    one.edition_id, one.setting, one.model_id, other.setting, other.model_id, one.scoring_policy, facets.position

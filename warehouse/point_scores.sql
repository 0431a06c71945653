-- Grain: one row per edition, setting, model, scoring policy, test point, facet and is_negated.
-- How many of the questions were asked, failed (no repeat has a response), are unanswered (no repeat has an answer,
-- under any policy), are unfinished (unanswered, and the thought of a repeat did not end), are graded and are right.
-- n_right_offers, n_right_offers_right: of the graded questions, those that do not offer a wrong option, and how many
-- of these are right. n_parts, n_right_parts, n_independent: the score of the row and its weight (macros.sql).
-- run: a hash of edition, setting, model and scoring policy.
-- Evaluations with too many failed questions (error_counts) have no rows.
create table point_scores as
with unfinished as (
    select distinct edition_id, setting, model_id, question_id
    from question_answers
    where is_unfinished_reasoning
),

asked as (
    select
        predictions.edition_id, predictions.setting, predictions.model_id, predictions.scoring_policy,
        questions.point_id,
        questions.facet,
        questions.type,
        questions.is_negated,
        questions.answer like 'F|%' as is_wrong_offered,
        len(questions.options) as n_options,
        predictions.error is not null as is_failed,
        predictions.n_answers = 0 and not is_failed as is_unanswered,
        unfinished.question_id is not null and is_unanswered as is_unfinished,
        predictions.is_correct as is_right
    from question_predictions as predictions
    semi join storage.scope using (edition_id, model_id)
    inner join questions using (edition_id, question_id)
    inner join error_counts as evaluated using (edition_id, setting, model_id)
    left join unfinished using (edition_id, setting, model_id, question_id)
    where evaluated.is_evaluated and questions.split = 'test'
),

counted as (
    select
        edition_id, setting, model_id, scoring_policy, point_id, facet, type, is_negated,
        count(*) as n_asked,
        count(*) filter (where is_failed) as n_failed,
        count(*) filter (where is_unanswered) as n_unanswered,
        count(*) filter (where is_unfinished) as n_unfinished,
        count(is_right) as n_graded,
        count(*) filter (where is_right) as n_right,
        count(is_right) filter (where not is_wrong_offered) as n_right_offers,
        count(*) filter (where is_right and not is_wrong_offered) as n_right_offers_right,
        parts_asked(is_right, type, is_wrong_offered) as n_parts,
        parts_right(is_right, type, is_wrong_offered, n_options) as n_right_parts,
        independent_questions(is_right, type, is_wrong_offered, n_options) as n_independent
    from asked
    group by edition_id, setting, model_id, scoring_policy, point_id, facet, type, is_negated
)

select
    hash(counted.edition_id, counted.setting, counted.model_id, counted.scoring_policy) as run,
    counted.edition_id, counted.setting, counted.model_id, models.name as model, counted.scoring_policy,
    points.relation, counted.point_id, points.pair_id,
    counted.facet, counted.type, counted.is_negated,
    counted.n_asked, counted.n_failed, counted.n_unanswered, counted.n_unfinished,
    counted.n_graded, counted.n_right, counted.n_right_offers, counted.n_right_offers_right,
    counted.n_parts, counted.n_right_parts, counted.n_independent
from counted
inner join models using (model_id)
inner join point_clusters as points using (edition_id, point_id)

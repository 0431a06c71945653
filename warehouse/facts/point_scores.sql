-- Grain: one row per edition, setting, model, scoring policy, test point, facet and is_negated.
-- The questions of a point added up. A repeat counts for all: a question failed if no repeat has a response, and is
-- unfinished if it has no answer and the thought of a repeat did not end, and refused if a repeat was refused.
-- n_parts, n_right_parts, n_independent: the score of the row and its weight (macros.sql).
-- Evaluations with too many failed questions (is_evaluated of runs) have no rows.
create table point_scores as
with replied as (
    select
        edition_id, setting, model_id, item_id as question_id,
        bool_or(is_unfinished_reasoning) as has_unfinished, bool_or(is_refused) as has_refused
    from answers
    where kind = 'questions' and (is_unfinished_reasoning or is_refused)
    group by edition_id, setting, model_id, item_id
),

asked as (
    select
        edition_id, setting, model_id, scoring_policy, point_id, facet, type, is_negated,
        questions.answer like 'F|%' as is_wrong_offered, len(options) as n_options, is_failed,
        n_answers = 0 and not is_failed as is_unanswered,
        coalesce(has_unfinished, false) and is_unanswered as is_unfinished,
        coalesce(has_refused, false) and is_unanswered as is_refused,
        is_correct as is_right
    from (select * exclude (is_refused), item_id as question_id from answers where kind = 'questions' and repeat = 0)
    semi join (from runs where is_evaluated) as evaluated using (edition_id, setting, model_id)
    inner join questions using (edition_id, question_id)
    left join replied using (edition_id, setting, model_id, question_id)
    where split = 'test'
),

counted as (
    select
        edition_id, setting, model_id, scoring_policy, point_id, facet, type, is_negated,
        count(*) as n_asked, count(*) filter (is_failed) as n_failed,
        count(*) filter (is_unanswered) as n_unanswered, count(*) filter (is_unfinished) as n_unfinished,
        count(*) filter (is_refused) as n_refused,
        count(is_right) as n_graded, count(*) filter (is_right) as n_right,
        count(is_right) filter (not is_wrong_offered) as n_right_offers,
        count(*) filter (is_right and not is_wrong_offered) as n_right_offers_right,
        parts_asked(is_right, type, is_wrong_offered) as n_parts,
        parts_right(is_right, type, is_wrong_offered, n_options) as n_right_parts,
        independent_questions(is_right, type, is_wrong_offered, n_options) as n_independent
    from asked
    group by edition_id, setting, model_id, scoring_policy, point_id, facet, type, is_negated
)

select
    hash(edition_id, setting, model_id, scoring_policy) as run,
    edition_id, setting, model_id, models.name as model, scoring_policy, relation, point_id, pair_id,
    counted.* exclude (edition_id, setting, model_id, scoring_policy, point_id)
from counted
inner join models using (model_id)
inner join storage.point_clusters using (edition_id, point_id)

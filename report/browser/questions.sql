-- One row per test point. shown: what all its questions share, beside its relation and head.
create or replace temp table browsed_candidates as
with taught as (
    select point_id, to_json(map_from_entries(list((model_id, taught_with) order by model_id))) as taught
    from storage.taught_points
    where edition_id = $edition_id and is_as_taught
    group by point_id
)

select
    questions.point_id as group_id,
    any_value(questions.relation) as relation,
    any_value(questions.head) as head,
    false as is_asserted,
    null::varchar as age,
    any_value(taught.taught) as taught,
    questions.point_id in (select point_id from point_scores where edition_id = $edition_id) as is_asked,
    to_json({}) as shown
from questions
left join taught using (point_id)
where questions.edition_id = $edition_id and questions.split = 'test'
group by questions.point_id;

-- One row per test question. form: a number for its type, and for whether it is negated. rank: its place among the
-- questions of its form; of revision questions, those that offer the right option come first.
create or replace temp table browsed_candidate_items as
select
    questions.point_id as group_id,
    questions.question_id as item_id,
    2 * place_type(questions.type) + questions.is_negated::integer as form,
    (questions.type = 'RQ' and questions.answer like 'F%')::integer || questions.question_id as rank,
    questions.text,
    to_json({
        'id': questions.question_id, 'text': questions.text, 'options': questions.options,
        'offered': questions.offered, 'answer': questions.answer, 'source': questions.source
    }) as shown
from questions
where questions.edition_id = $edition_id and questions.split = 'test'

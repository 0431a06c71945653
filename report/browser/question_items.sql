-- One row per test question. slot, place: its position in its point. form: a number for its type, and for whether it
-- is negated.
create or replace temp table browsed_items as
select
    browsed_groups.position,
    questions.question_id as item_id,
    questions.text,
    json_array(
        questions.question_id,
        questions.text,
        questions.options,
        questions.offered,
        questions.answer,
        questions.source
    ) as shown,
    2 * facets.position + questions.is_negated::integer as form,
    row_number() over (
        partition by browsed_groups.position
        order by form, questions.answer like 'F|%', questions.question_id
    ) - 1 as slot,
    slot as place
from questions
inner join browsed_groups on questions.point_id = browsed_groups.group_id
inner join facets on questions.type = facets.type
where questions.edition_id = $edition_id and questions.split = 'test'
order by browsed_groups.position, place

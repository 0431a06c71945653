-- One row per test question. form: a number for its type, and for whether it is negated. place: its position in its
-- point; of revision questions, those that offer the right option come first.
create or replace temp table browsed_items as
with placed as (
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
        questions.type = 'RQ' and questions.answer like 'F%' as is_wrong_offered,
        2 * facets.position + questions.is_negated::integer as form
    from questions
    inner join browsed_groups on questions.point_id = browsed_groups.group_id
    inner join facets on questions.type = facets.type
    where questions.edition_id = $edition_id and questions.split = 'test'
)

select *, row_number() over (partition by position order by form, is_wrong_offered, item_id) - 1 as place
from placed
order by position, place

-- One row per question, in the order of the items: what became of it in a run, as a code (collection.py).
with unfinished as (
    select distinct question_id
    from question_answers
    where edition_id = $edition_id and setting = $setting and model_id = $model_id and is_unfinished_reasoning
),

asked as (
    select
        question_id,
        (is_correct is not null)::utinyint
        + 2 * coalesce(is_correct, false)::utinyint
        + 4 * (n_answers = 0 and error is null)::utinyint
        + 8 * (error is not null)::utinyint
        + 16 * (n_answers = 0 and error is null and question_id in (from unfinished))::utinyint as code
    from question_predictions
    where
        edition_id = $edition_id and setting = $setting and model_id = $model_id
        and scoring_policy = $scoring_policy
)

select coalesce(asked.code, 32)::utinyint as code
from browsed_items as items
left join asked on items.item_id = asked.question_id
order by items.position, items.place

-- One row per point: for each of its questions, what became of the answers in a run, as one
-- character of base 32: the sum of graded 1, correct 2, unanswered 4, failed 8 and unfinished 16. A dash stands for
-- one that the model was not asked.
with unfinished as (
    select distinct item_id, true as is_unfinished
    from answers
    where
        kind = 'questions'
        and edition_id = $edition_id
        and model_id = $model_id
        and setting = $setting
        and is_unfinished_reasoning
),

coded as (
    select
        item_id,
        n_answers = 0 and not is_failed as is_unanswered,
        (is_correct is not null)::integer
        + 2 * coalesce(is_correct, false)::integer
        + 4 * is_unanswered::integer
        + 8 * is_failed::integer
        + 16 * (is_unanswered and coalesce(is_unfinished, false))::integer as code
    from answers
    left join unfinished using (item_id)
    where
        kind = 'questions'
        and repeat = 0
        and edition_id = $edition_id
        and model_id = $model_id
        and setting = $setting
        and scoring_policy = $scoring_policy
)

select string_agg(coalesce(substring('0123456789abcdefghijklmnopqrstuv', coded.code + 1, 1), '-'), '' order by items.place)
from browsed_items as items
left join coded using (item_id)
group by items.position
order by items.position

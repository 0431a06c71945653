-- One row per pair: for each of its samples, what became of the answer in a run, as one
-- character of base 32: the sum of graded 1, correct 2, unanswered 4, failed 8 and unfinished 16. A dash stands for
-- one that the model was not asked.
with answered as (
    select
        item_id,
        scoring_policy,
        is_correct,
        is_unfinished_reasoning,
        is_failed,
        bool_or(prediction is null and not is_failed) over (partition by item_id) as is_unanswered
    from answers
    where kind = 'samples' and edition_id = $edition_id and model_id = $model_id and repeat = $repeat
),

coded as (
    select
        item_id,
        (is_correct is not null)::integer
        + 2 * coalesce(is_correct, false)::integer
        + 4 * is_unanswered::integer
        + 8 * is_failed::integer
        + 16 * is_unfinished_reasoning::integer as code
    from answered
    where scoring_policy = $scoring_policy
)

select string_agg(coalesce(substring('0123456789abcdefghijklmnopqrstuv', coded.code + 1, 1), '-'), '' order by items.place)
from browsed_items as items
left join coded using (item_id)
group by items.position
order by items.position

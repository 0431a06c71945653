-- One row per pair: for each of its samples, what became of the answer in a run, as one
-- character of base 32: the sum of graded 1, correct 2, unanswered 4, failed 8 and unfinished 16. A dash stands for
-- one that the model was not asked.
with answers as (
    select
        sample_id,
        scoring_policy,
        is_correct,
        is_unfinished_reasoning,
        error is not null as is_failed,
        bool_or(prediction is null and error is null) over (partition by sample_id) as is_unanswered
    from predictions
    where edition_id = $edition_id and model_id = $model_id and repeat = $repeat
),

coded as (
    select
        sample_id,
        (is_correct is not null)::integer
        + 2 * coalesce(is_correct, false)::integer
        + 4 * is_unanswered::integer
        + 8 * is_failed::integer
        + 16 * is_unfinished_reasoning::integer as code
    from answers
    where scoring_policy = $scoring_policy
)

select string_agg(coalesce(substring('0123456789abcdefghijklmnopqrstuv', coded.code + 1, 1), '-'), '' order by items.place)
from browsed_items as items
left join coded on items.item_id = coded.sample_id
group by items.position
order by items.position

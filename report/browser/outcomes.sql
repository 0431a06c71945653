-- One file: what became of the answer of a run to each item, with null for an item that the model was not asked.
-- is_correct: null where the answer is not graded. likely: the probability of True in tenths, 0 to 9; the whole list
-- is null if the model gives none.
with answered as (
    select
        item_id,
        bool_or(is_failed) as is_failed,
        max(n_answers) = 0 as has_no_answer,
        bool_or(is_unfinished_reasoning) as is_unfinished,
        any_value(is_correct) as is_correct,
        any_value(least(floor(1 / (1 + exp(least(logprob_false - logprob_true, 700))) * 10), 9)::tinyint)
            filter (where isfinite(logprob_true) and isfinite(logprob_false)) as likely
    from answers
    where
        kind = $kind
        and edition_id = $edition_id
        and model_id = $model_id
        and setting is not distinct from $setting
        and repeat = coalesce($repeat, repeat)
        and scoring_policy = $scoring_policy
    group by item_id
),

judged as (
    select
        *,
        case
            when is_failed then 'failed'
            when has_no_answer and is_unfinished then 'unfinished'
            when has_no_answer then 'unanswered'
            when is_correct then 'right'
            when not is_correct then 'wrong'
            when has_no_answer is not null then 'left out'
        end as outcome
    from browsed_items
    left join answered using (item_id)
)

select
    0 as number,
    to_json({
        'outcomes': list(outcome order by position, place),
        'is_correct': list(is_correct order by position, place),
        'likely': if(count(likely) > 0, list(likely order by position, place), null)
    })::varchar as content
from judged

-- One row per group of samples: what one model replied to each of them, as JSON. The fields that most replies
-- lack come last and are left out there.
with replies as (
    select
        position,
        place,
        to_json(
            list(
                case
                    when coalesce(reasoning, error, answer, rule) is null and coalesce(n_demonstrations_dropped, 0) = 0
                        then json_array(repeat, before_number, after_number, clip(response), likely_true, likely_false)
                    else json_array(
                        repeat,
                        before_number,
                        after_number,
                        clip(response),
                        likely_true,
                        likely_false,
                        clip(reasoning),
                        error,
                        n_demonstrations_dropped,
                        answer,
                        rule,
                        voted
                    )
                end order by repeat
            )
        ) as said
    from (
        select
            *,
            round(if(isfinite(logprob_true), logprob_true, null), 4) as likely_true,
            round(if(isfinite(logprob_false), logprob_false, null), 4) as likely_false
        from browsed_asked
        inner join browsed_items using (item_id)
    )
    left join browsed_cuts using (prompt_hash, item_id)
    group by position, place
)

select to_json(list(coalesce(replies.said, '[]'::json) order by items.place))::varchar
from browsed_items as items
left join replies using (position, place)
group by items.position
order by items.position

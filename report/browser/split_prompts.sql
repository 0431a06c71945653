-- One row per reply: its prompt as what stands before and after the text of the sample, because thousands of
-- prompts share these parts. how: 0 if the prompt has the text itself, 1 if it has the text as JSON escapes it
-- (chat messages), 2 if it has neither, so that `before` is the whole prompt.
create or replace temp table browsed_split as
with forms as (
    select
        replies.* exclude (item_id, prompt_key),
        items.position,
        items.place,
        items.text,
        responses.prompt,
        to_json(items.text)::varchar as quoted
    from browsed_items as items
    inner join browsed_replies as replies using (item_id)
    left join responses
        on responses.model_id = $model_id
        and replies.prompt_key = responses.prompt_key
        and replies.repeat = responses.repeat
),

cut as (
    select
        *,
        case
            when contains(prompt, text) then 0
            when contains(prompt, quoted[2:-2]) then 1
            when prompt is not null then 2
        end as how,
        if(how = 1, quoted[2:-2], text) as shown,
        if(how = 2, '', string_split(prompt, shown)[-1]) as after
    from forms
)

select
    * exclude (text, quoted, prompt, shown),
    if(how = 2, prompt, left(prompt, length(prompt) - length(after) - length(shown))) as before
from cut

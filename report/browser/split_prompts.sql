-- One row per reply: its prompt as what stands before and after the text of the sample, because thousands of
-- prompts share these parts. how: 0 if the prompt has the text itself, 1 if it has the text as JSON escapes it
-- (chat messages), 2 if it has neither, so that all of it stands before. Only what follows the last blank line of a
-- prompt is searched, because the demonstrations before it may have the same text.
create or replace temp table browsed_split as
with forms as (
    select
        replies.* exclude (item_id, prompt_key),
        items.position,
        items.place,
        prompt,
        -- JSON writes a blank line as \n\n.
        string_split(prompt, if(contains(prompt, e'\n\n'), e'\n\n', '\n\n'))[-1] as rest,
        items.text,
        (to_json(items.text)::varchar)[2:-2] as quoted
    from browsed_items as items
    inner join browsed_replies as replies using (item_id)
    left join storage.responses as stored
        on stored.model_id = $model_id
        and replies.prompt_key = stored.prompt_key
        and replies.repeat = stored.repeat
    left join storage.prompts as prompts using (prompt_hash)
),

cut as (
    select
        *,
        case when contains(rest, text) then 0 when contains(rest, quoted) then 1 when rest is not null then 2 end as how,
        if(how = 1, quoted, text) as shown,
        if(how = 2, '', string_split(rest, shown)[-1]) as after
    from forms
)

select
    * exclude (text, quoted, prompt, rest, shown),
    if(how = 2, prompt, left(prompt, length(prompt) - length(after) - length(shown))) as before
from cut

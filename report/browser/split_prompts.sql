-- One row per reply: its prompt as what stands before and after the text of the sample, because thousands of
-- prompts share these parts. how: 0 if the prompt has the text itself, 1 if it has the text as JSON escapes it
-- (chat messages), 2 if it has neither, so that `before` is the whole prompt.
create or replace temp table browsed_split as
with forms as (
    select *, to_json(text)::varchar as quoted from browsed_replies
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

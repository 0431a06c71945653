-- Cut the prompts that no other model was asked into what stands before and after the text of the sample, because
-- thousands of prompts share these parts. how: 0 if the prompt has the text itself, 1 if it has the text as JSON escapes
-- it (chat messages), 2 if it has neither, so that all of it stands before. Only what follows the last blank line of a
-- prompt is searched, because the demonstrations before it may have the same text.
create or replace temp table browsed_split as
with new_prompts as (
    select distinct prompt_hash, item_id
    from browsed_asked
    anti join browsed_cuts using (prompt_hash, item_id)
),

forms as (
    select
        prompt_hash,
        item_id,
        prompt,
        -- JSON writes a blank line as \n\n.
        string_split(prompt, if(contains(prompt, e'\n\n'), e'\n\n', '\n\n'))[-1] as rest,
        items.text,
        (to_json(items.text)::varchar)[2:-2] as quoted
    from new_prompts
    inner join browsed_items as items using (item_id)
    inner join storage.prompts using (prompt_hash)
),

cut as (
    select
        *,
        case when contains(rest, text) then 0 when contains(rest, quoted) then 1 else 2 end as how,
        if(how = 1, quoted, text) as shown,
        if(how = 2, '', string_split(rest, shown)[-1]) as after,
        if(how = 2, length(prompt), length(prompt) - length(after) - length(shown)) as n_before
    from forms
)

-- The texts before are compared by their hashes, because all of them together take 0.3 GB for 253,000 prompts.
select prompt_hash, item_id, how, after, n_before, hash(left(prompt, n_before)) as before_hash
from cut;

create or replace temp table browsed_befores as
with firsts as (
    select before_hash, how, any_value(prompt_hash) as prompt_hash, any_value(n_before) as n_before
    from browsed_split
    group by before_hash, how, n_before
)

select before_hash, how, left(prompt, n_before) as part
from firsts
inner join storage.prompts using (prompt_hash);

-- Number the parts that have no number yet.
insert into browsed_parts
with new_parts as (
    select part, how from browsed_befores
    union
    select after, 0 from browsed_split
    except
    select part, how from browsed_parts
)

select (select count(*) from browsed_parts) + row_number() over (order by part, how) - 1, part, how
from new_parts;

insert into browsed_cuts
select split.prompt_hash, split.item_id, before.number, after.number
from browsed_split as split
inner join browsed_befores as befores using (before_hash, how)
inner join browsed_parts as before using (part, how)
inner join browsed_parts as after on split.after = after.part and after.how = 0

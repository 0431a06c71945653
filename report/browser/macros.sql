-- The characters of a response or of a reasoning that the page shows.
create or replace temp macro clip(t) as if(length(t) > 30000, left(t, 30000) || ' …', t);

create or replace temp macro escape_text(item_text) as (to_json(item_text)::varchar)[2:-2];

-- True if a prompt has the text of its item only as JSON escapes it (chat messages).
create or replace temp macro has_only_escaped(prompt, item_text) as
    not contains(prompt, item_text) and contains(prompt, escape_text(item_text));

-- The parts of a prompt around the text of its item. A prompt without the text is one part.
create or replace temp macro cut_prompt(prompt, item_text) as string_split(
    prompt, if(has_only_escaped(prompt, item_text), escape_text(item_text), item_text)
)

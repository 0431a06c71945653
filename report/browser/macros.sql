-- The characters of a response or of a reasoning that the page shows.
create or replace temp macro clip(t) as if(length(t) > 30000, left(t, 30000) || ' …', t);

-- The parts of a prompt around the text of its item. is_escaped: whether the prompt has the text as JSON escapes it
-- (chat messages). A prompt without the text is one part.
create or replace temp macro cut_prompt(prompt, item_text) as if(
    contains(prompt, item_text) or not contains(prompt, (to_json(item_text)::varchar)[2:-2]),
    {'parts': string_split(prompt, item_text), 'is_escaped': false},
    {'parts': string_split(prompt, (to_json(item_text)::varchar)[2:-2]), 'is_escaped': true}
)

-- One row per item and repeat that a model was asked: the reply, under any of the scoring policies, and the hashes of
-- the parts of the prompt around the text of the item. Thousands of prompts share these parts, which are therefore
-- collected by their hashes: all of them take 0.3 GB for 253,000 prompts.
create or replace temp table browsed_replies as
with asked as (
    select
        items.position, items.place, items.position // $n_per_file as number, items.text,
        stored.prompt_hash, answers.repeat, answers.error,
        clip(answers.response) as response,
        clip(answers.reasoning) as reasoning,
        if($kind = 'questions', answers.answer, null) as answer,
        if($kind = 'questions', answers.rule, null) as rule,
        if($kind = 'questions' and answers.n_answers > 0, answers.prediction, null) as prediction,
        round(if(isfinite(answers.logprob_true), answers.logprob_true, null), 4) as logprob_true,
        round(if(isfinite(answers.logprob_false), answers.logprob_false, null), 4) as logprob_false,
        nullif(answers.n_demonstrations_dropped, 0) as n_dropped
    from answers
    inner join browsed_items as items using (item_id)
    left join storage.responses as stored using (model_id, prompt_key, repeat)
    where
        answers.kind = $kind
        and answers.edition_id = $edition_id
        and answers.model_id = $model_id
        and answers.setting is not distinct from $setting
        and answers.repeat = coalesce($repeat, answers.repeat)
    qualify answers.scoring_policy = min(answers.scoring_policy) over ()
)

select
    asked.*,
    nullif(has_only_escaped(prompts.prompt, asked.text), false) as is_escaped,
    list_transform(cut_prompt(prompts.prompt, asked.text), lambda part : hash(part)) as part_hashes
from asked
left join storage.prompts using (prompt_hash);

-- One file per $n_per_file groups: the distinct parts of prompts, and for each group and item the replies, without
-- fields that are null. prompt: the numbers of its parts.
with cuts as (
    select
        number, prompt_hash, text,
        unnest(part_hashes) as part_hash,
        generate_subscripts(part_hashes, 1) as part_place
    from browsed_replies
),

examples as (
    select number, part_hash, any_value({'prompt_hash': prompt_hash, 'text': text, 'place': part_place}) as example
    from cuts
    group by number, part_hash
),

parts as (
    select
        examples.number,
        list(examples.part_hash order by examples.part_hash) as hashes,
        list(cut_prompt(prompts.prompt, examples.example.text)[examples.example.place] order by examples.part_hash)
            as texts
    from examples
    inner join storage.prompts on prompts.prompt_hash = examples.example.prompt_hash
    group by examples.number
),

replied as (
    select
        replies.position,
        replies.place,
        list(json_merge_patch('{}', to_json({
            'repeat': replies.repeat, 'n_dropped': replies.n_dropped, 'is_escaped': replies.is_escaped,
            'prompt': list_transform(replies.part_hashes, lambda part : list_position(parts.hashes, part) - 1),
            'response': replies.response, 'reasoning': replies.reasoning, 'error': replies.error,
            'answer': replies.answer, 'rule': replies.rule, 'prediction': replies.prediction,
            'logprob_true': replies.logprob_true, 'logprob_false': replies.logprob_false
        })) order by replies.repeat) as replies
    from browsed_replies as replies
    left join parts using (number)
    group by replies.position, replies.place
),

grouped as (
    select position // $n_per_file as number, position, list(coalesce(replied.replies, []) order by place) as items
    from browsed_items
    left join replied using (position, place)
    group by position
)

select
    number,
    to_json({'parts': any_value(parts.texts), 'groups': list(grouped.items order by position)})::varchar as content
from grouped
left join parts using (number)
group by number
order by number

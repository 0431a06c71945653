-- One row per item and repeat that a model was asked: the reply, under any of the scoring policies, and a key for the
-- parts of the prompt around the text of the item. Thousands of prompts share these parts, which are therefore
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

select asked.*, if(prompts.prompt is not null, hash(cut_prompt(prompts.prompt, asked.text)), null) as prompt_parts
from asked
left join storage.prompts using (prompt_hash);

-- One file per $n_per_file groups: the distinct parts of prompts, and for each group and item the replies, without
-- fields that are null. prompt: the number of its parts.
with examples as (
    select number, prompt_parts, any_value({'prompt_hash': prompt_hash, 'text': text}) as example
    from browsed_replies
    where prompt_parts is not null
    group by number, prompt_parts
),

numbered as (
    select
        examples.number,
        examples.prompt_parts,
        row_number() over (partition by examples.number order by examples.prompt_parts) - 1 as prompt,
        cut_prompt(prompts.prompt, examples.example.text) as parts
    from examples
    inner join storage.prompts on prompts.prompt_hash = examples.example.prompt_hash
),

replied as (
    select
        replies.position,
        replies.place,
        list(json_merge_patch('{}', to_json({
            'repeat': replies.repeat, 'prompt': numbered.prompt, 'n_dropped': replies.n_dropped,
            'response': replies.response, 'reasoning': replies.reasoning, 'error': replies.error,
            'answer': replies.answer, 'rule': replies.rule, 'prediction': replies.prediction,
            'logprob_true': replies.logprob_true, 'logprob_false': replies.logprob_false
        })) order by replies.repeat) as replies
    from browsed_replies as replies
    left join numbered using (number, prompt_parts)
    group by replies.position, replies.place
),

grouped as (
    select position // $n_per_file as number, position, list(coalesce(replied.replies, []) order by place) as items
    from browsed_items
    left join replied using (position, place)
    group by position
),

prompts as (
    select number, list(parts order by prompt) as prompts
    from numbered
    group by number
)

select
    number,
    to_json({'prompts': any_value(prompts.prompts), 'groups': list(grouped.items order by position)})::varchar as content
from grouped
left join prompts using (number)
group by number
order by number

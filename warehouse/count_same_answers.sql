-- One row per model, method, scoring policy and repeat: on how many samples two editions share the stored answer.
-- n_texts: the test samples with the same text that the model was asked in both editions; n_same_answers: those of
-- them whose prompt, with its demonstrations, is the same too, so that both editions read one stored answer.
create macro count_same_answers(first_edition, second_edition) as table
select
    one.model_id,
    samples.method,
    one.scoring_policy,
    one.repeat,
    count(*) as n_texts,
    count(*) filter (one.prompt_key = other.prompt_key) as n_same_answers
from predictions as one
inner join predictions as other using (model_id, sample_id, scoring_policy, repeat)
inner join samples on one.edition_id = samples.edition_id and one.sample_id = samples.sample_id
where one.edition_id = first_edition and other.edition_id = second_edition
group by one.model_id, samples.method, one.scoring_policy, one.repeat
order by one.model_id, samples.method, one.scoring_policy, one.repeat;

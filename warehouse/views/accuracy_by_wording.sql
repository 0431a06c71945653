-- Grain: one row per edition, model, method, scoring policy, repeat, relation, transformation and wording.
-- The accuracy of a model on each sentence. wording: the text of the samples with [X] for the head and [Y] for the
-- tail, which is a wording of the pool, or the sentence of a writer. A name that the text does not contain in its own
-- spelling stays in it. prototype: likewise the statement behind it; null for llmeval.
-- n_samples: graded samples. average_accuracy has no interval here: most wordings have few samples.
create or replace view accuracy_by_wording as
with worded as (
    select
        hash(samples.edition_id, samples.sample_id) as sample,
        samples.method,
        samples.relation,
        samples.transformation,
        blank_names(samples.text, triplets.head, triplets.tail) as wording,
        blank_names(variants.statement, triplets.head, triplets.tail) as prototype,
        hash(samples.edition_id, samples.method, samples.relation, samples.transformation, prototype, wording) as key
    from samples
    inner join triplets using (edition_id, triplet_id)
    left join variants on samples.edition_id = variants.edition_id and samples.variant_id = variants.variant_id
    where samples.split = 'test'
),

graded as (
    select
        worded.key,
        answers.edition_id,
        answers.model_id,
        answers.scoring_policy,
        answers.repeat,
        count(*) as n_samples,
        avg(answers.is_correct::integer) as average_accuracy
    from worded
    inner join answers on worded.sample = hash(answers.edition_id, answers.item_id)
    semi join (from runs where setting is null and period is null and is_evaluated) as evaluated
        on answers.edition_id = evaluated.edition_id and answers.model_id = evaluated.model_id
    where answers.kind = 'samples' and answers.is_correct is not null and answers.weight > 0
    group by all
),

wordings as (
    select distinct key, method, relation, transformation, prototype, wording
    from worded
)

select
    graded.edition_id,
    graded.model_id,
    models.name as model,
    wordings.method,
    graded.scoring_policy,
    graded.repeat,
    wordings.relation,
    wordings.transformation,
    wordings.prototype,
    wordings.wording,
    graded.n_samples,
    graded.average_accuracy
from graded
inner join wordings using (key)
inner join models on graded.model_id = models.model_id
order by
    graded.edition_id, models.name, graded.model_id, wordings.method, graded.scoring_policy, graded.repeat,
    wordings.relation, wordings.transformation, wordings.wording

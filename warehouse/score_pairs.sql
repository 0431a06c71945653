-- One row per edition, period, model, method, scoring policy, repeat and test pair. `answers` names a query with the
-- columns of anchor_predictions.
-- Bit sets: bit k is the sample under the transformation at position k of the positive triplet (for llmeval,
-- which has no transformations, the sample at sample_index k); bit k + 8 is that of the negative triplet.
-- asked ⊇ failed: the prompt has no response. No policy grades it, and it is not unanswered either.
-- asked ⊇ graded (is_correct is not null) ⊇ correct. asked ⊇ unanswered: no answer in the response, under any
-- policy. coin-flip replaces it by a guess, but its no-answer rate is still that of the responses.
-- unanswered ⊇ unfinished: the model was still thinking when its tokens were used up.
-- asked ⊇ weighed (both log-probabilities are known) ⊇ likelier (the likelier of True and False is right; a
-- tie is not).
-- A triplet is complete when all its K samples are graded: only then can it count in a joint accuracy. The
-- other triplets (llmeval with too few usable lines; failed prompts; no answer under `excluded`) are left out
-- there and counted. A pair is complete when both its triplets are.
-- run: a hash of edition, period, model, method, scoring policy and repeat, which is faster to group by than their
-- names. k: samples of a complete triplet.
create macro score_pairs(answers) as table
with placed as (
    select
        samples.edition_id,
        samples.sample_id,
        samples.method,
        samples.relation,
        samples.pair_id,
        samples.label,
        (
            1::uinteger << (
                coalesce(transformations.position, samples.sample_index)
                + case when triplets.is_positive then 0 else 8 end
            )
        )::usmallint as bit
    from samples
    inner join triplets using (edition_id, triplet_id)
    left join transformations using (transformation)
    where samples.split = 'test'
),

bit_sets as (
    select
        edition_id,
        period,
        model_id, method, scoring_policy, repeat,
        relation,
        pair_id,
        bit_or(bit) as asked,
        bit_or(case when error is not null then bit else 0 end)::usmallint as failed,
        bit_or(case when is_correct is not null then bit else 0 end)::usmallint as graded,
        bit_or(
            bit_or(case when prediction is null and error is null then bit else 0 end)::usmallint
        ) over whole_pair as unanswered,
        bit_or(case when is_unfinished_reasoning then bit else 0 end)::usmallint as unfinished,
        bit_or(case when prediction then bit else 0 end)::usmallint as predicted_true,
        bit_or(case when is_correct then bit else 0 end)::usmallint as correct,
        bit_or(
            case when isfinite(logprob_true) and isfinite(logprob_false) then bit else 0 end
        )::usmallint as weighed,
        bit_or(
            case
                when not isfinite(logprob_true) or not isfinite(logprob_false) then 0
                when logprob_true > logprob_false and label then bit
                when logprob_true < logprob_false and not label then bit
                else 0
            end
        )::usmallint as likelier
    from query_table(answers) as answered
    inner join placed using (edition_id, sample_id)
    group by edition_id, period, model_id, method, scoring_policy, repeat, relation, pair_id
    window whole_pair as (partition by edition_id, period, model_id, method, repeat, pair_id)
),

halves as (
    select
        *,
        samples_per_triplet(method) as k,
        bit_count(positive_bits(correct)) as right_positive,
        bit_count(negative_bits(correct)) as right_negative,
        bit_count(positive_bits(graded)) = k as has_positive,
        bit_count(negative_bits(graded)) = k as has_negative
    from bit_sets
)

select
    hash(edition_id, period, model_id, method, scoring_policy, repeat) as run,
    edition_id,
    period,
    model_id,
    models.name as model,
    method,
    scoring_policy,
    repeat,
    relation,
    pair_id,
    k,
    bit_count(asked)::integer as n_asked,
    bit_count(failed)::integer as n_errors,
    bit_count(graded)::integer as n_graded,
    bit_count(unanswered)::integer as n_no_answer,
    bit_count(correct)::integer as n_correct,
    case when has_positive then right_positive end::integer as n_correct_positive,
    case when has_negative then right_negative end::integer as n_correct_negative,
    has_positive and has_negative as is_complete,
    has_positive and has_negative and right_positive + right_negative = 2 * k as is_mastered,
    asked as asked_bits,
    failed as failed_bits,
    graded as graded_bits,
    correct as correct_bits,
    unanswered as unanswered_bits,
    predicted_true & ~unanswered as answered_true_bits,
    unfinished as unfinished_bits,
    weighed as weighed_bits,
    likelier as likelier_bits
from halves
inner join models using (model_id);

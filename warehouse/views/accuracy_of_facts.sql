-- Grain: one row per edition, model, method, scoring policy, repeat and is_positive.
-- True facts against their false twins. average_accuracy counts the samples of one of the two. affirmed_rate: of the
-- answers, the share that affirms the fact, with denials turned: a model that denies every fact it does not know has a
-- low one for both, while true_rate, in which denials cancel it, stays near a half.
-- Stability of a fact over its forms: disagreement_rate is the share of complete triplets that a model judges rightly in
-- some forms and wrongly in others; probability_range is the mean, over the triplets, of the largest minus the smallest
-- probability of affirming it, where the log-probabilities of True and False are known.
create or replace view accuracy_of_facts as
with masks as (
    select *
    from (values (true, 255::usmallint, 8), (false, 65280::usmallint, 8)) as masks (part, bits, k)
),

scored as (
    select * replace (case when method in ('direct', 'origin') then 1 else masked.k end as k)
    from mask_scores('masks') as masked
),

measured as (
    from measure_scores('scored', measures := ['average'])
),

affirmed as (
    select
        run,
        part,
        sum(bit_count(graded_bits & ~unanswered_bits)) as n_answers,
        sum(bit_count(correct_bits & ~unanswered_bits)) as n_right
    from scored
    group by run, part
),

probabilities as (
    select
        predictions.edition_id, predictions.model_id, predictions.scoring_policy, predictions.repeat,
        samples.method,
        samples.triplet_id,
        triplets.is_positive,
        1 / (1 + exp(logprob_false - logprob_true)) as p_true,
        case when samples.label = triplets.is_positive then p_true else 1 - p_true end as p_affirmed
    from predictions
    inner join samples using (edition_id, sample_id)
    inner join triplets using (edition_id, triplet_id)
    where samples.split = 'test' and isfinite(logprob_true) and isfinite(logprob_false)
),

ranges as (
    select
        edition_id, model_id, scoring_policy, repeat, method, is_positive,
        avg(probability_range) as probability_range
    from (
        select
            edition_id, model_id, scoring_policy, repeat, method, is_positive,
            max(p_affirmed) - min(p_affirmed) as probability_range
        from probabilities
        group by edition_id, model_id, scoring_policy, repeat, method, is_positive, triplet_id
    )
    group by edition_id, model_id, scoring_policy, repeat, method, is_positive
)

select
    measured.edition_id, measured.model_id, measured.model, measured.method, measured.scoring_policy, measured.repeat,
    measured.part as is_positive,
    measured.average_accuracy, measured.average_accuracy_ci_low, measured.average_accuracy_ci_high,
    case when measured.part then n_right else n_answers - n_right end / nullif(n_answers, 0) as affirmed_rate,
    1 - measured.consistency as disagreement_rate,
    ranges.probability_range,
    measured.n_samples,
    measured.n_pairs,
    measured.n_triplets,
    measured.n_effective,
    measured.no_answer_rate,
    measured.unfinished_reasoning_rate,
    measured.n_errors,
    measured.error_rate
from measured
inner join affirmed using (run, part)
left join ranges
    on
        measured.edition_id = ranges.edition_id
        and measured.model_id = ranges.model_id
        and measured.method = ranges.method
        and measured.scoring_policy = ranges.scoring_policy
        and measured.repeat = ranges.repeat
        and measured.part = ranges.is_positive
order by
    measured.edition_id, measured.model, measured.model_id, measured.method, measured.scoring_policy, measured.repeat,
    measured.part desc

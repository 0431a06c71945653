-- Grain: one row per edition, model, method and repeat.
-- What the log-probabilities of True and False, from the same pass as the text, are worth. They do not depend
-- on the scoring policy. p_true is the softmax of the two (calibration_sums.sql).
-- n_samples: samples with both log-probabilities; missing_rate: the share of asked samples without them.
-- average_accuracy (ci_low, ci_high: pair as the cluster): the likelier of the two is right; a tie is wrong.
-- no_answer_rate: of the texts, for comparison.
-- auroc: the probability that a true sample has a higher p_true than a false one, with ties counted half: the
-- Mann-Whitney U over n_true · n_false (Hanley and McNeil 1982). Null if only one label occurs.
-- calibration_error: over 10 bins of equal width, Σ n_bin/n · |mean p_true − share true| (expected
-- calibration error; Naeini et al. 2015). brier_score: mean of (p_true − label)² (Brier 1950).
create or replace view probability_calibration as
with once as (
    select *
    from pair_scores
    qualify
        scoring_policy = min(scoring_policy) over (partition by edition_id, model_id)
),

likelier as (
    select
        edition_id,
        model_id,
        model,
        method,
        repeat,
        sum(bit_count(weighed_bits))::bigint as n_samples,
        n_clusters(bit_count(weighed_bits)::integer) as n_pairs,
        1 - share(bit_count(weighed_bits), n_asked) as missing_rate,
        share(bit_count(likelier_bits), bit_count(weighed_bits)) as average_accuracy,
        effective_n(
            bit_count(likelier_bits)::integer,
            bit_count(weighed_bits)::integer,
            1,
            sum(bit_count(weighed_bits))
        ) as n_effective,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from once
    group by edition_id, model_id, model, method, repeat
),

weighed as (
    select
        edition_id,
        model_id,
        method,
        repeat,
        sum(n_true) as n_true,
        sum(n_samples - n_true) as n_false,
        sum(rank_sum) as rank_sum,
        sum(abs(sum_p_true - n_true)) / sum(n_samples) as calibration_error,
        sum(sum_squared_error) / sum(n_samples) as brier_score
    from calibration_sums
    group by edition_id, model_id, method, repeat
)

select
    likelier.edition_id,
    likelier.model_id,
    likelier.model,
    likelier.method,
    likelier.repeat,
    likelier.n_samples,
    likelier.n_pairs,
    likelier.missing_rate,
    likelier.average_accuracy,
    wilson_low(likelier.average_accuracy, likelier.n_effective) as ci_low,
    wilson_high(likelier.average_accuracy, likelier.n_effective) as ci_high,
    likelier.no_answer_rate,
    likelier.n_errors,
    likelier.error_rate,
    (weighed.rank_sum - weighed.n_true * (weighed.n_true + 1) / 2)
    / nullif(weighed.n_true * weighed.n_false, 0) as auroc,
    weighed.calibration_error,
    weighed.brier_score
from likelier
left join weighed using (edition_id, model_id, method, repeat)
order by edition_id, model, model_id, method, repeat

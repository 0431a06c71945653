-- Grain: one row per edition, model, method and repeat.
-- What the log-probabilities of True and False, from the same pass as the text, are worth. They do not depend
-- on the scoring policy. p_true is the softmax of the two (calibration_bins).
-- n_samples: samples with both log-probabilities; missing_rate: the share of asked samples without them.
-- average_accuracy: the likelier of the two is right; a tie is wrong. Its interval: as in average_accuracy.
-- no_answer_rate: of the texts, for comparison.
-- auroc: the probability that a true sample has a higher p_true than a false one, with ties counted half: the
-- Mann-Whitney U over n_true · n_false (Hanley and McNeil 1982). Null if only one label occurs.
-- calibration_error: over 10 bins of equal width, Σ n_bin/n · |mean p_true − share true| (expected
-- calibration error; Naeini et al. 2015). brier_score: mean of (p_true − label)² (Brier 1950).
create or replace view probability_calibration as
with weighed as (
    select
        edition_id, model_id, method, repeat,
        sum(n_samples * true_rate) as n_true,
        sum(n_samples) - n_true as n_false,
        (sum(rank_sum) - n_true * (n_true + 1) / 2) / nullif(n_true * n_false, 0) as auroc,
        sum(n_samples * abs(mean_p_true - true_rate)) / sum(n_samples) as calibration_error,
        sum(sum_squared_error) / sum(n_samples) as brier_score
    from calibration_bins
    group by edition_id, model_id, method, repeat
),

asked as (
    select run, sum(n_asked) as n_asked from pair_scores group by run
)

select
    edition_id, model_id, likelier.model, method, repeat,
    likelier.n_samples, likelier.n_pairs,
    1 - likelier.n_samples / asked.n_asked as missing_rate,
    likelier.average_accuracy, likelier.average_accuracy_ci_low, likelier.average_accuracy_ci_high,
    likelier.n_effective, likelier.no_answer_rate, likelier.n_errors, likelier.error_rate,
    weighed.auroc, weighed.calibration_error, weighed.brier_score
from scores as likelier
inner join asked using (run)
left join weighed using (edition_id, model_id, method, repeat)
where likelier.grouping_by = 'likelier answer'
order by edition_id, likelier.model, model_id, method, repeat

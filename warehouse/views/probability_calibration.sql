-- Grain: one row per edition, model, method and repeat.
-- The worth of the log-probabilities of True and False, from the same pass as the text. They do not depend
-- on the scoring policy. p_true is the softmax of the two.
-- average_accuracy: the likelier of the two is right; a tie is wrong. Its interval is computed as in the leaderboard.
-- no_answer_rate: of the texts, for comparison.
-- auroc, calibration_error, brier_score: how well p_true tells true samples from false ones (scores.py). auroc is null
-- if only one label occurs.
create or replace view probability_calibration as
with asked as (
    select run, sum(n_sampled) as n_asked from pair_scores group by run
)

select
    edition_id, model_id, likelier.model, method, repeat,
    likelier.n_samples, likelier.n_pairs,
    1 - likelier.n_samples / asked.n_asked as missing_rate,
    likelier.average_accuracy, likelier.average_accuracy_ci_low, likelier.average_accuracy_ci_high,
    likelier.n_effective, likelier.no_answer_rate, likelier.n_errors, likelier.error_rate,
    likelier.auroc, likelier.calibration_error, likelier.brier_score
from scores as likelier
inner join asked using (run)
where likelier.grouping_by = 'likelier answer'
order by edition_id, likelier.model, model_id, method, repeat

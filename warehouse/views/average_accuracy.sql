-- Grain: one row per edition, model, method, scoring policy and repeat.
-- average_accuracy: mean of s(i,j) over all samples (method, section 4; PretexEval).
-- gain_over_random: average_accuracy − 0.5. n_samples: the samples that the policy grades.
-- ci_low, ci_high: 95 % interval with the pair as the cluster (macros.sql).
-- n_errors, error_rate: the asked samples whose prompt failed, which no policy grades, and their share.
-- no_answer_rate: of the other asked samples, the share whose response contains no answer.
-- unfinished_reasoning_rate: the part of no_answer_rate whose model was still thinking when its tokens were
-- used up.
-- true_rate: share of "true" among the answers given.
create or replace view average_accuracy as
select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    sum(n_graded)::bigint as n_samples,
    n_clusters(n_graded) as n_pairs,
    share(n_correct, n_graded) as average_accuracy,
    cluster_low(n_correct, n_graded) as ci_low,
    cluster_high(n_correct, n_graded) as ci_high,
    share(n_correct, n_graded) - 0.5 as gain_over_random,
    share(n_no_answer, n_asked - n_errors) as no_answer_rate,
    share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
    share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
    sum(n_errors)::bigint as n_errors,
    share(n_errors, n_asked) as error_rate
from pair_scores
group by edition_id, model_id, model, method, scoring_policy, repeat
order by edition_id, model, model_id, method, scoring_policy, repeat

-- Grain: one row per edition, model, method, scoring policy and repeat.
-- average_accuracy: mean of s(i,j) over all samples (method, section 4; PretexEval).
-- gain_over_random: average_accuracy − 0.5. n_samples: the samples that the policy grades.
-- ci_low, ci_high: 95 % interval for new facts like these; pairs that share a head or a tail are correlated.
-- fixed_base_ci_low, fixed_base_ci_high: only pairs are clusters (estimate_shares.sql).
-- n_effective: the effective number of heads or tails. Below 20, ci_low and ci_high are only a rough guide.
-- n_errors, error_rate: the asked samples whose prompt failed, which no policy grades, and their share.
-- no_answer_rate: of the other asked samples, the share whose response contains no answer.
-- unfinished_reasoning_rate: the part of no_answer_rate whose model was still thinking when its tokens were
-- used up. true_rate: share of "true" among the answers given.
create or replace view average_accuracy as
with scored as (
    select *, 'all' as part
    from pair_scores
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    n_samples,
    n_pairs,
    average_accuracy,
    ci_low,
    ci_high,
    fixed_base_ci_low,
    fixed_base_ci_high,
    n_effective,
    average_accuracy - 0.5 as gain_over_random,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average'])
order by edition_id, model, model_id, method, scoring_policy, repeat

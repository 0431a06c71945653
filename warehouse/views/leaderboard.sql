-- Grain: one row per edition, model, method, scoring policy and repeat.
-- The measures of method.md, section 4, side by side: average accuracy (pair as the cluster), gain over
-- random, joint accuracy of triplets, mastery of pairs, consistency (share of the triplets answered all right
-- or all wrong), no-answer rate and its part unfinished_reasoning_rate (the model was still thinking when its
-- tokens were used up), error rate. n_samples: graded samples; n_triplets and n_complete_pairs: those with all
-- samples graded.
-- rank: by mastery, then average accuracy, within edition, method, scoring policy and repeat.
create or replace view leaderboard as
with measured as (
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
        sum(n_triplets)::bigint as n_triplets,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as joint_ci_low,
        cluster_high(n_triplets_right, n_triplets) as joint_ci_high,
        share(n_triplets_consistent, n_triplets) as consistency,
        count(*) filter (where is_complete) as n_complete_pairs,
        share(is_mastered::integer, is_complete::integer) as mastery,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from pair_scores
    group by edition_id, model_id, model, method, scoring_policy, repeat
)

select
    edition_id,
    method,
    scoring_policy,
    repeat,
    rank() over (
        partition by edition_id, method, scoring_policy, repeat
        order by mastery desc nulls last, average_accuracy desc nulls last
    ) as rank,
    model_id,
    model,
    average_accuracy,
    ci_low,
    ci_high,
    average_accuracy - 0.5 as gain_over_random,
    joint_accuracy,
    joint_ci_low,
    joint_ci_high,
    mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    consistency,
    no_answer_rate,
    unfinished_reasoning_rate,
    n_errors,
    error_rate,
    n_samples,
    n_triplets,
    n_pairs,
    n_complete_pairs
from measured
order by edition_id, method, scoring_policy, repeat, rank, model, model_id

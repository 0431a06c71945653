-- Grain: one row per edition, model, method, scoring policy and repeat.
-- The measures of method.md, section 4, side by side: average accuracy (pair as the cluster), gain over
-- random, joint accuracy of triplets, mastery of pairs, consistency (share of the triplets answered all right
-- or all wrong), no-answer rate and its part unfinished_reasoning_rate (the model was still thinking when its
-- tokens were used up), error rate. n_samples: graded samples; n_triplets and n_complete_pairs: those with all
-- samples graded.
-- best_shortcut: the best shortcut of each relation (shortcut_scores.sql), by name, joined by " + ";
-- best_shortcut_mastery: its mastery of the pairs that the model completed; mastery_above_shortcut: mastery
-- minus that, with its 95 % interval, paired by pair. A shortcut chosen by its result is an upper bound, so a
-- model can know something and still be below it; a model above it knows more than names and polarity tell.
-- true_rate: share of "true" among the answers given. constant_answer: the answer that at least 99 % of them
-- are, null if neither is.
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
        string_agg(distinct shortcut, ' + ' order by shortcut) as best_shortcut,
        avg(shortcut_mastery) filter (where is_complete) as best_shortcut_mastery,
        above_shortcut(is_mastered, is_complete, shortcut_mastery) as above,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
        share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
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
    best_shortcut,
    best_shortcut_mastery,
    above_difference(above) as mastery_above_shortcut,
    above_low(above) as mastery_above_shortcut_ci_low,
    above_high(above) as mastery_above_shortcut_ci_high,
    consistency,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    constant_answer(true_rate) as constant_answer,
    n_errors,
    error_rate,
    n_samples,
    n_triplets,
    n_pairs,
    n_complete_pairs
from measured
order by edition_id, method, scoring_policy, repeat, rank, model, model_id

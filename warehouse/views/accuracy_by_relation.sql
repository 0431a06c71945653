-- Grain: one row per edition, model, method, scoring policy, repeat and relation.
-- average_accuracy, with ci_low and ci_high: over the samples of the relation, with the pair as the cluster.
-- joint_accuracy: share of its triplets with all K samples right. mastery: share of its pairs, all 2K right.
-- best_shortcut: the shortcut that masters most pairs of the relation, and its mastery of the same pairs.
-- mastery_above_shortcut: the difference, paired (leaderboard.sql). true_rate: share of "true" among the answers.
-- n_samples: graded samples; n_pairs: pairs with a graded sample; n_complete_pairs: denominator of mastery.
create or replace view accuracy_by_relation as
with measured as (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        relation,
        sum(n_graded)::bigint as n_samples,
        n_clusters(n_graded) as n_pairs,
        share(n_correct, n_graded) as average_accuracy,
        cluster_low(n_correct, n_graded) as ci_low,
        cluster_high(n_correct, n_graded) as ci_high,
        sum(n_triplets)::bigint as n_triplets,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as joint_ci_low,
        cluster_high(n_triplets_right, n_triplets) as joint_ci_high,
        count(*) filter (where is_complete) as n_complete_pairs,
        share(is_mastered::integer, is_complete::integer) as mastery,
        any_value(shortcut) as best_shortcut,
        avg(shortcut_mastery) filter (where is_complete) as best_shortcut_mastery,
        above_shortcut(is_mastered, is_complete, shortcut_mastery) as above,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from pair_scores
    group by edition_id, model_id, model, method, scoring_policy, repeat, relation
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    relation,
    n_samples,
    n_pairs,
    average_accuracy,
    ci_low,
    ci_high,
    n_triplets,
    joint_accuracy,
    joint_ci_low,
    joint_ci_high,
    n_complete_pairs,
    mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    best_shortcut,
    best_shortcut_mastery,
    above_difference(above) as mastery_above_shortcut,
    above_low(above) as mastery_above_shortcut_ci_low,
    above_high(above) as mastery_above_shortcut_ci_high,
    no_answer_rate,
    true_rate,
    n_errors,
    error_rate
from measured
order by edition_id, model, model_id, method, scoring_policy, repeat, relation

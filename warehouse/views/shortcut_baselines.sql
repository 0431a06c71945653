-- Grain: one row per edition, method, relation (null: all of them) and baseline.
-- What somebody without medical knowledge would score on the test samples (method, section 4), to read beside
-- every score. The baselines are described in shortcut_scores.sql. The row `best` over all relations is the best
-- shortcut of each relation, combined: what somebody could score at most who knew which shortcut works where.
-- shortcuts: the baseline itself; for best, those that it uses, by name.
-- average_accuracy (pair as the cluster), joint_accuracy of triplets and mastery of pairs, each with its 95 %
-- interval. The scores of the coin are expected values. Their interval is that of one guesser who tosses the
-- coins of this edition. A baseline always answers: no_answer_rate is 0.
create or replace view shortcut_baselines as
with measured as (
    select
        edition_id,
        method,
        relation,
        baseline,
        list_sort(list_distinct(list(shortcut))) as shortcuts,
        bool_and(is_expected) as is_expected,
        sum(n_samples)::bigint as n_samples,
        count(*) as n_pairs,
        share(n_right, n_samples) as average_accuracy,
        sum(n_judged) as n_judged,
        cluster_low(n_right, n_samples) as ci_low,
        cluster_high(n_right, n_samples) as ci_high,
        sum(n_triplets) as n_triplets,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as joint_ci_low,
        cluster_high(n_triplets_right, n_triplets) as joint_ci_high,
        count(*) filter (where is_complete) as n_complete_pairs,
        share(mastery, is_complete::integer) as mastery
    from shortcut_scores
    group by grouping sets (
        (edition_id, method, relation, baseline),
        (edition_id, method, baseline)
    )
)

select
    edition_id,
    method,
    relation,
    baseline,
    shortcuts,
    n_samples,
    n_pairs,
    average_accuracy,
    if(is_expected, wilson_low(average_accuracy, n_judged), ci_low) as ci_low,
    if(is_expected, wilson_high(average_accuracy, n_judged), ci_high) as ci_high,
    joint_accuracy,
    if(is_expected, wilson_low(joint_accuracy, n_triplets), joint_ci_low) as joint_ci_low,
    if(is_expected, wilson_high(joint_accuracy, n_triplets), joint_ci_high) as joint_ci_high,
    n_complete_pairs,
    mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    0.0::double as no_answer_rate
from measured
order by edition_id, method, relation nulls first, baseline

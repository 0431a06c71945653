-- Queries that several views share, as table macros. They are created after pair_scores, which they read.

-- One row per edition, model, method, scoring policy, repeat, `part` and polarity: the accuracy on the
-- samples whose transformations have the same value of `part`, a column of the table transformations.
-- position: where the part comes first in the order of the transformations.
-- Methods without transformations (llmeval) have no rows.
create macro accuracy_by_part(split_by) as table
with masks as (
    select split_by as part, is_negated, min(position) as position, sum(bits)::usmallint as bits
    from transformations
    group by split_by, is_negated
),

counted as (
    select
        pair_scores.edition_id,
        pair_scores.model_id,
        pair_scores.model,
        pair_scores.method,
        pair_scores.scoring_policy,
        pair_scores.repeat,
        masks.part,
        masks.is_negated,
        masks.position,
        bit_count(asked_bits & bits)::integer as n_asked,
        bit_count(failed_bits & bits)::integer as n_errors,
        bit_count(graded_bits & bits)::integer as n_graded,
        bit_count(correct_bits & bits)::integer as n_correct,
        bit_count(unanswered_bits & bits)::integer as n_no_answer,
        bit_count(answered_true_bits & bits)::integer as n_answered_true
    from pair_scores
    cross join masks
    where pair_scores.method <> 'llmeval' and (asked_bits & bits) > 0
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    part,
    is_negated,
    position,
    sum(n_graded)::bigint as n_samples,
    n_clusters(n_graded) as n_pairs,
    share(n_correct, n_graded) as average_accuracy,
    cluster_low(n_correct, n_graded) as ci_low,
    cluster_high(n_correct, n_graded) as ci_high,
    share(n_no_answer, n_asked - n_errors) as no_answer_rate,
    share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
    sum(n_errors)::bigint as n_errors,
    share(n_errors, n_asked) as error_rate
from counted
group by edition_id, model_id, model, method, scoring_policy, repeat, part, is_negated, position;

-- One row per edition, other edition, model, other model, method, scoring policy and repeat: two scores
-- on the same questions, paired. `matches` names a query that joins two rows of pair_scores per question:
-- the columns of the first under their own names, those of the second with the prefix `other_`.
-- n_matched: rows of `matches`. The averages count the samples graded on both sides, n_pairs the rows
-- with such a sample; mastery counts the rows that are complete on both sides (n_complete).
-- docs/statistics.md has the formulas of the difference and of its limits (macros.sql, paired).
create macro compare_scores(matches) as table
with counted as (
    select
        edition_id,
        other_edition_id,
        model_id,
        other_model_id,
        method,
        scoring_policy,
        repeat,
        graded_bits & other_graded_bits as shared,
        bit_count(shared)::integer as n_shared,
        bit_count(correct_bits & shared)::integer as n_right,
        bit_count(other_correct_bits & shared)::integer as n_other_right,
        bit_count(correct_bits & ~other_correct_bits & shared)::integer as n_gained,
        bit_count(other_correct_bits & ~correct_bits & shared)::integer as n_lost,
        is_complete and other_is_complete as is_shared,
        (is_shared and is_mastered)::integer as mastered,
        (is_shared and other_is_mastered)::integer as other_mastered,
        n_asked,
        n_errors,
        n_no_answer,
        other_n_asked,
        other_n_errors,
        other_n_no_answer
    from query_table(matches)
),

measured as (
    select
        edition_id,
        other_edition_id,
        model_id,
        other_model_id,
        method,
        scoring_policy,
        repeat,
        count(*) as n_matched,
        sum(n_shared)::bigint as n_samples,
        n_clusters(n_shared) as n_pairs,
        share(n_right, n_shared) as average_accuracy,
        effective_n(n_right, n_shared, 1, sum(n_shared)) as n_effective,
        share(n_other_right, n_shared) as other_average_accuracy,
        effective_n(n_other_right, n_shared, 1, sum(n_shared)) as n_other_effective,
        paired(n_gained, n_lost, n_shared) as paired,
        sum(is_shared::integer)::bigint as n_complete,
        sum(mastered) / nullif(n_complete, 0) as mastery,
        sum(other_mastered) / nullif(n_complete, 0) as other_mastery,
        sum((mastered > other_mastered)::integer)::bigint as n_mastered_alone,
        sum((mastered < other_mastered)::integer)::bigint as n_other_mastered_alone,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate,
        share(other_n_no_answer, other_n_asked - other_n_errors) as other_no_answer_rate,
        sum(other_n_errors)::bigint as n_other_errors,
        share(other_n_errors, other_n_asked) as other_error_rate
    from counted
    group by
        edition_id, other_edition_id, model_id, other_model_id, method, scoring_policy, repeat
)

select
    measured.edition_id,
    measured.other_edition_id,
    measured.model_id,
    models.name as model,
    measured.other_model_id,
    other_models.name as other_model,
    measured.method,
    measured.scoring_policy,
    measured.repeat,
    n_matched,
    n_samples,
    n_pairs,
    average_accuracy,
    wilson_low(average_accuracy, n_effective) as ci_low,
    wilson_high(average_accuracy, n_effective) as ci_high,
    other_average_accuracy,
    wilson_low(other_average_accuracy, n_other_effective) as other_ci_low,
    wilson_high(other_average_accuracy, n_other_effective) as other_ci_high,
    paired.difference,
    paired.se as difference_se,
    paired_low(paired) as difference_ci_low,
    paired_high(paired) as difference_ci_high,
    n_complete,
    mastery,
    wilson_low(mastery, n_complete) as mastery_ci_low,
    wilson_high(mastery, n_complete) as mastery_ci_high,
    other_mastery,
    wilson_low(other_mastery, n_complete) as other_mastery_ci_low,
    wilson_high(other_mastery, n_complete) as other_mastery_ci_high,
    mastery - other_mastery as mastery_difference,
    n_mastered_alone,
    n_other_mastered_alone,
    no_answer_rate,
    other_no_answer_rate,
    n_errors,
    n_other_errors,
    error_rate,
    other_error_rate
from measured
inner join models on measured.model_id = models.model_id
inner join models as other_models on measured.other_model_id = other_models.model_id;

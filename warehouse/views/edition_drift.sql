-- Grain: one row per two editions of the same base (each two once), model, method, policy and repeat.
-- The same model asked anew: on the heads that both editions test (one pair of each, by relation and
-- head; the negative tails and the wording may differ), how far its scores fell. A fall on fresh text
-- is the sign of a leaked edition. edition_id is the one whose name comes first (by ISO week the
-- earlier), difference = its average accuracy − the other's, likewise mastery_difference.
-- Both averages with their interval, head as the cluster, on the samples (triplet's truth and
-- transformation) graded in both; the differences paired by head (macros.sql, paired).
-- same_text_rate: of the other edition's test samples of the heads shared by the editions, those that
-- stand in this one word for word (the same sample_id, which hashes triplet, transformation and text).
create or replace view edition_drift as
with heads as (
    select
        triplets.edition_id,
        editions.kb,
        triplets.pair_id,
        triplets.relation,
        triplets.head
    from triplets
    inner join editions using (edition_id)
    where triplets.split = 'test' and triplets.is_positive
),

shared_heads as (
    select
        one.edition_id,
        other.edition_id as other_edition_id,
        one.pair_id,
        other.pair_id as other_pair_id
    from heads as one
    inner join heads as other using (kb, relation, head)
    where one.edition_id < other.edition_id
),

texts as (
    select
        shared_heads.edition_id,
        shared_heads.other_edition_id,
        samples.method,
        (before.sample_id is not null)::integer as is_same
    from shared_heads
    inner join samples
        on shared_heads.other_edition_id = samples.edition_id
        and shared_heads.other_pair_id = samples.pair_id
    left join samples as before
        on shared_heads.edition_id = before.edition_id
        and samples.sample_id = before.sample_id
    where samples.split = 'test'
),

same_texts as (
    select edition_id, other_edition_id, method, avg(is_same) as same_text_rate
    from texts
    group by edition_id, other_edition_id, method
),

matched as (
    select
        one.edition_id,
        other.edition_id as other_edition_id,
        one.model_id,
        one.model,
        one.method,
        one.scoring_policy,
        one.repeat,
        one.graded_bits & other.graded_bits as shared,
        bit_count(shared)::integer as n_shared,
        bit_count(one.correct_bits & shared)::integer as n_correct,
        bit_count(other.correct_bits & shared)::integer as n_other_correct,
        bit_count(one.correct_bits & ~other.correct_bits & shared)::integer as n_gained,
        bit_count(other.correct_bits & ~one.correct_bits & shared)::integer as n_lost,
        one.is_complete and other.is_complete as is_shared,
        (is_shared and one.is_mastered)::integer as mastered,
        (is_shared and other.is_mastered)::integer as other_mastered,
        one.n_asked,
        one.n_no_answer,
        other.n_asked as n_other_asked,
        other.n_no_answer as n_other_no_answer
    from shared_heads
    inner join pair_scores as one
        on shared_heads.edition_id = one.edition_id and shared_heads.pair_id = one.pair_id
    inner join pair_scores as other
        on shared_heads.other_edition_id = other.edition_id
        and shared_heads.other_pair_id = other.pair_id
        and one.model_id = other.model_id
        and one.method = other.method
        and one.scoring_policy = other.scoring_policy
        and one.repeat = other.repeat
),

measured as (
    select
        edition_id,
        other_edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        count(*) as n_heads,
        sum(n_shared)::bigint as n_samples,
        share(n_correct, n_shared) as average_accuracy,
        effective_n(n_correct, n_shared, 1, sum(n_shared)) as n_effective,
        share(n_other_correct, n_shared) as other_average_accuracy,
        effective_n(n_other_correct, n_shared, 1, sum(n_shared)) as n_other_effective,
        paired(n_gained, n_lost, n_shared) as paired,
        sum(is_shared::integer)::bigint as n_complete_heads,
        sum(mastered) / nullif(n_complete_heads, 0) as mastery,
        sum(other_mastered) / nullif(n_complete_heads, 0) as other_mastery,
        sum((mastered > other_mastered)::integer)::bigint as n_mastered_alone,
        sum((mastered < other_mastered)::integer)::bigint as n_other_mastered_alone,
        share(n_no_answer, n_asked) as no_answer_rate,
        share(n_other_no_answer, n_other_asked) as other_no_answer_rate
    from matched
    group by
        edition_id,
        other_edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat
)

select
    edition_id,
    other_edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    n_heads,
    n_samples,
    same_text_rate,
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
    n_complete_heads,
    mastery,
    wilson_low(mastery, n_complete_heads) as mastery_ci_low,
    wilson_high(mastery, n_complete_heads) as mastery_ci_high,
    other_mastery,
    wilson_low(other_mastery, n_complete_heads) as other_mastery_ci_low,
    wilson_high(other_mastery, n_complete_heads) as other_mastery_ci_high,
    mastery - other_mastery as mastery_difference,
    unit_low(n_mastered_alone, n_other_mastered_alone, nullif(n_complete_heads, 0))
        as mastery_difference_ci_low,
    unit_high(n_mastered_alone, n_other_mastered_alone, nullif(n_complete_heads, 0))
        as mastery_difference_ci_high,
    no_answer_rate,
    other_no_answer_rate
from measured
left join same_texts using (edition_id, other_edition_id, method)
order by edition_id, other_edition_id, model, model_id, method, scoring_policy, repeat

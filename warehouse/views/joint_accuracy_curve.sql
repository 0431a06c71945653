-- Grain: one row per edition, model, method, scoring policy, repeat and n (samples asked, 1..K).
-- joint_accuracy: the expected share of triplets that are all right when n of the K samples are asked, over
-- all choices of n: mean over triplets of C(c, n) / C(K, n), c = number of right samples (method, section 4).
-- n = 1 is the average accuracy and n = K the joint accuracy by triplet, both of the complete triplets only.
-- joint_accuracy_ci_low, joint_accuracy_ci_high, n_effective: 95 % interval as in joint_accuracy. Each choice of n samples is an observation,
-- but a triplet counts at most K / n independent ones, so that both ends agree with average_accuracy and
-- joint_accuracy.
create or replace view joint_accuracy_curve as
with choices as (
    -- C(c, n), for c and n up to K = 8.
    select
        c.range as c,
        n.range as n,
        case
            when c.range < n.range then 0
            else (factorial(c.range::integer)
                // (factorial(n.range::integer) * factorial((c.range - n.range)::integer)))
        end::integer as n_choices
    from range(0, 9) as c, range(1, 9) as n
),

chosen as (
    select
        pair_scores.*,
        all_right.n,
        all_right.n_choices as n_chosen,
        coalesce(positive.n_choices, 0) as n_positive_right,
        coalesce(negative.n_choices, 0) as n_negative_right,
        (n_correct_positive is not null)::integer as has_positive,
        (n_correct_negative is not null)::integer as has_negative
    from pair_scores
    inner join choices as all_right on all_right.c = pair_scores.k
    left join choices as positive
        on positive.c = n_correct_positive and positive.n = all_right.n
    left join choices as negative
        on negative.c = n_correct_negative and negative.n = all_right.n
    where all_right.n <= pair_scores.k
),

observations as (
    select
        run as key,
        n as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive_right as gained,
        has_positive * n_chosen as n,
        n_negative_right as negative_gained,
        has_negative * n_chosen as negative_n
    from chosen
),

estimates as materialized (
    from estimate_shares('observations')
),

summed as (
    select
        run,
        n,
        any_value(columns(['edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'k'])),
        sum(has_positive + has_negative)::bigint as n_triplets,
        count(*) filter (where has_positive + has_negative > 0) as n_pairs,
        any_value(scoring_policy) <> 'excluded'
        or sum(has_positive + has_negative) >= 0.8 * 2 * count(*) as has_accuracy,
        observe(
            n_positive_right + n_negative_right,
            (has_positive + has_negative) * n_chosen,
            n_most := sum(has_positive + has_negative) * any_value(k) / n
        ) as observed,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(bit_count(unfinished_bits), n_asked - n_errors) as unfinished_reasoning_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from chosen
    group by run, n
),

sized as (
    select
        summed.*,
        estimates.n_effective,
        case when has_accuracy then observed.share end as joint_accuracy,
        effective_n(observed, estimates.inflation, estimates.n_rare) as size
    from summed
    left join estimates on summed.run = estimates.key and summed.n = estimates.measure
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    n,
    n_triplets,
    n_pairs,
    n_triplets * k as n_samples,
    joint_accuracy,
    wilson_low(joint_accuracy, size) as joint_accuracy_ci_low,
    wilson_high(joint_accuracy, size) as joint_accuracy_ci_high,
    n_effective,
    no_answer_rate,
    unfinished_reasoning_rate,
    n_errors,
    error_rate
from sized
order by edition_id, model, model_id, method, scoring_policy, repeat, n

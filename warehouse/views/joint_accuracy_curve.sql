-- Grain: one row per edition, model, method, scoring policy, repeat and n (samples asked, 1..K).
-- joint_accuracy: the expected share of triplets that are all right when n of the K samples are asked, over
-- all choices of n: mean over triplets of C(c, n) / C(K, n), c = number of right samples (method, section 4).
-- n = 1 is the average accuracy and n = K the joint accuracy by triplet, both of the complete triplets only.
-- ci_low, ci_high: 95 % interval with the pair as the cluster. Each choice of n samples is an observation,
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

-- The number of pairs per count of right samples in either triplet: at most 100 rows per group instead of
-- one per pair. The count of an incomplete triplet is null.
histogram as (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        n_correct_positive,
        n_correct_negative,
        count(*) as n_pairs,
        sum(n_no_answer)::bigint as n_no_answer,
        sum(n_errors)::bigint as n_errors,
        sum(n_asked)::bigint as n_asked
    from pair_scores
    group by
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        n_correct_positive,
        n_correct_negative
),

weighed as (
    select
        histogram.*,
        all_right.n,
        coalesce(positive.n_choices, 0) + coalesce(negative.n_choices, 0) as n_right,
        (n_correct_positive is not null)::integer
        + (n_correct_negative is not null)::integer as n_triplets,
        n_triplets * all_right.n_choices as n_chosen
    from histogram
    inner join choices as all_right on all_right.c = samples_per_triplet(histogram.method)
    left join choices as positive
        on positive.c = histogram.n_correct_positive and positive.n = all_right.n
    left join choices as negative
        on negative.c = histogram.n_correct_negative and negative.n = all_right.n
    where all_right.n <= samples_per_triplet(histogram.method)
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    n,
    sum(n_pairs * n_triplets)::bigint as n_triplets,
    n_clusters(n_triplets, n_pairs) as n_pairs,
    (sum(n_pairs * n_triplets) * samples_per_triplet(method))::bigint as n_samples,
    share(n_pairs * n_right, n_pairs * n_chosen) as joint_accuracy,
    wilson_low(
        share(n_pairs * n_right, n_pairs * n_chosen),
        effective_n(
            n_right,
            n_chosen,
            n_pairs,
            sum(n_pairs * n_triplets) * samples_per_triplet(method) / n
        )
    ) as ci_low,
    wilson_high(
        share(n_pairs * n_right, n_pairs * n_chosen),
        effective_n(
            n_right,
            n_chosen,
            n_pairs,
            sum(n_pairs * n_triplets) * samples_per_triplet(method) / n
        )
    ) as ci_high,
    share(n_no_answer, n_asked - n_errors) as no_answer_rate,
    sum(n_errors)::bigint as n_errors,
    share(n_errors, n_asked) as error_rate
from weighed
group by edition_id, model_id, model, method, scoring_policy, repeat, n
order by edition_id, model, model_id, method, scoring_policy, repeat, n

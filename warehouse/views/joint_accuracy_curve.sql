-- Grain: one row per edition, model, method, scoring policy, repeat and n (samples asked, 1..K).
-- joint_accuracy: the expected share of triplets that are all right when n of the K samples are asked, over
-- all choices of n: mean over triplets of C(c, n) / C(K, n), c = number of right samples (method, section 4).
-- n = 1 is the average accuracy and n = K the joint accuracy by triplet, both of the complete triplets only.
create or replace view joint_accuracy_curve as
with right_of_triplets as (
    select
        run, k,
        unnest([
            case when n_positive = k then n_positive_right end, case when n_negative = k then n_negative_right end
        ]) as n_right
    from pair_scores
    where is_in_full
),

-- C(n_right, n) / C(k, n) = Π (n_right − i) / (k − i) over i = 0 … n − 1.
chosen as (
    select
        run, n,
        avg(list_product(list_transform(range(0, n), lambda i: greatest(n_right - i, 0) / (k - i)))) as joint_accuracy
    from right_of_triplets
    cross join range(1, 9) as sizes (n)
    where n_right is not null and n <= k
    group by run, n
)

select
    whole.edition_id, whole.model_id, whole.model, whole.method, whole.scoring_policy, whole.repeat,
    limits.group_position as n,
    whole.n_triplets, whole.n_triplet_pairs as n_pairs, whole.n_triplets * whole.k as n_samples,
    case when whole.joint_accuracy is not null then chosen.joint_accuracy end as joint_accuracy,
    case when whole.joint_accuracy is not null then limits.average_accuracy_ci_low end as joint_accuracy_ci_low,
    case when whole.joint_accuracy is not null then limits.average_accuracy_ci_high end as joint_accuracy_ci_high,
    limits.n_effective, whole.no_answer_rate, whole.unfinished_reasoning_rate, whole.refused_rate,
    whole.n_errors, whole.error_rate
from scores as whole
inner join scores as limits using (run)
left join chosen on limits.run = chosen.run and limits.group_position = chosen.n
where whole.grouping_by = 'edition' and limits.grouping_by = 'choices'
order by whole.edition_id, whole.model, whole.model_id, whole.method, whole.scoring_policy, whole.repeat, n

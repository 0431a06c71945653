-- Grain: one row per edition, model, method, scoring policy, repeat and n (samples asked, 1..K).
-- joint_accuracy: the expected share of triplets that are all right when n of the K samples are asked, over
-- all choices of n: mean over triplets of C(c, n) / C(K, n), c = number of right samples (method, section 4).
-- n = 1 is the average accuracy and n = K the joint accuracy by triplet, both of the complete triplets only.
create or replace view joint_accuracy_curve as
with triplets_right as (
    select run, k, unnest([n_positive_right, n_negative_right]) as c, unnest([n_positive, n_negative]) as n_graded
    from pair_scores
    where is_in_full
),

counted as (
    select run, k, c, count(*) as n_triplets
    from triplets_right
    where n_graded = k
    group by run, k, c
),

curve as (
    select run, n, sum(n_triplets * choose(c, n) / choose(k, n)) / sum(n_triplets) as joint_accuracy
    from counted
    cross join (select unnest(range(1, 9)) as n)
    where n <= k
    group by run, n
)

select
    whole.edition_id, whole.model_id, whole.model, whole.method, whole.scoring_policy, whole.repeat,
    choices.group_position as n,
    whole.n_triplets, whole.n_triplet_pairs as n_pairs, whole.n_triplets * whole.k as n_samples,
    unless_selected(curve.joint_accuracy, whole.scoring_policy, whole.left_out_rate) as joint_accuracy,
    case when whole.joint_accuracy is not null then choices.average_accuracy_ci_low end as joint_accuracy_ci_low,
    case when whole.joint_accuracy is not null then choices.average_accuracy_ci_high end as joint_accuracy_ci_high,
    choices.n_effective, whole.no_answer_rate, whole.unfinished_reasoning_rate, whole.refused_rate,
    whole.n_errors, whole.error_rate
from scores as whole
inner join scores as choices using (run)
left join curve on choices.run = curve.run and choices.group_position = curve.n
where whole.grouping_by = 'edition' and choices.grouping_by = 'choices'
order by whole.edition_id, whole.model, whole.model_id, whole.method, whole.scoring_policy, whole.repeat, n

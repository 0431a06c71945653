-- Grain: one row per edition, model, method, scoring policy, repeat and weighting.
-- Average accuracy and mastery over the relations of the edition, also where a model was asked different shares of
-- them (a budget, pairs_per_relation). weighting: `relations` is the mean over relations, each with the same weight;
-- `pairs` gives a relation the weight of its test pairs in the edition, so it estimates the measure over all of them
-- without bias. The leaderboard counts every asked sample once instead.
-- A measure is the weighted mean of those of the relations, and relations are strata (Cochran 1977, chapter 5): a
-- pair counts in the variance with its deviation from its own relation. As in facet_accuracy, each pair is observed
-- with its weight in whole parts of 10⁹, and with the mean plus that deviation, so that estimate_shares gives the
-- intervals of the leaderboard, with heads and tails as clusters over all relations. The deviations are multiplied by
-- √(m/(m−1)) for m pairs of a stratum; relations with one pair are one stratum together.
-- n_most: to how many independent samples the weights amount. The share of a stratum is drawn towards the mean by one
-- observation here, because a large relation of which no pair is mastered would otherwise have no variance. If no
-- pair deviates, each pair is one observation.
-- Null if a relation has no graded sample (for mastery: no complete pair), and mastery under `excluded` also where
-- more than a fifth of the pairs are left out (part_scores).
create or replace view weighted_accuracy as
with observed as (
    select
        run,
        relation,
        'average' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive_right as gained,
        n_positive as n,
        n_negative_right as negative_gained,
        n_negative as negative_n
    from pair_scores
    where n_positive + n_negative > 0
    union all by name
    select
        run,
        relation,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        is_mastered::integer as gained,
        1 as n,
        null as negative_gained,
        null as negative_n
    from pair_scores
    where is_complete
),

sizes as (
    select edition_id, relation, count(*) as n_pairs
    from triplets
    where split = 'test' and is_positive
    group by edition_id, relation
),

weights as (
    select
        edition_id,
        relation,
        n_pairs,
        unnest(['relations', 'pairs']) as weighting,
        unnest(
            [
                1 / count(*) over (partition by edition_id),
                n_pairs / sum(n_pairs) over (partition by edition_id)
            ]
        ) as weight
    from sizes
),

runs_of_scores as (
    select
        run,
        any_value(columns(['edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat'])),
        1 - count(*) filter (where is_complete) / count(*) as left_out_rate,
        share(n_no_answer, n_asked - pair_scores.n_errors) as no_answer_rate,
        sum(pair_scores.n_errors)::bigint as n_errors,
        share(pair_scores.n_errors, n_asked) as error_rate
    from pair_scores
    group by run
),

sums as (
    select
        run,
        measure,
        relation,
        count(*) as n_pairs,
        sum(n + coalesce(negative_n, 0)) as n,
        sum(gained + coalesce(negative_gained, 0)) as gained,
        sum((gained + coalesce(negative_gained, 0)) ** 2) as squares,
        sum((gained + coalesce(negative_gained, 0)) * (n + coalesce(negative_n, 0))) as products,
        sum((n + coalesce(negative_n, 0)) ** 2) as square_sizes
    from observed
    group by run, measure, relation
),

parts as (
    select
        sums.*,
        weights.weighting,
        weights.weight,
        case when sums.n_pairs = 1 then '' else sums.relation end as stratum,
        gained / n as share,
        -- How many samples the model has right beyond that share, squared, over the pairs.
        abs(squares - 2 * gained / n * products + (gained / n) ** 2 * square_sizes) > 1e-6 as varies
    from sums
    inner join runs_of_scores using (run)
    inner join weights
        on runs_of_scores.edition_id = weights.edition_id and sums.relation = weights.relation
),

strata as (
    select
        *,
        sum(weight * share) over whole as average,
        sum(weight * share) over own / sum(weight) over own as stratum_share,
        sum(n_pairs) over own as stratum_pairs,
        sum(n) over own as stratum_n,
        sum(weight) over whole as total_weight,
        count(*) over own > 1 or bool_or(varies) over whole as has_deviations
    from parts
    window
        whole as (partition by run, measure, weighting),
        own as (partition by run, measure, weighting, stratum)
),

factors as (
    select
        *,
        1e9 * weight / n as size,
        sqrt(stratum_pairs / greatest(stratum_pairs - 1, 1)) as spread,
        (stratum_share * stratum_n + average) / (stratum_n + 1) as drawn_share,
        case
            when bool_or(has_deviations) over whole
                then average * (1 - average)
                    / nullif(sum(weight ** 2 / n * drawn_share * (1 - drawn_share)) over whole, 0)
            else 1 / sum(weight ** 2 / n_pairs) over whole
        end as n_most
    from strata
    window whole as (partition by run, measure, weighting)
),

observations as (
    select
        struct_pack(run, weighting) as key,
        measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        round(
            size * (average * observed.n + spread * (observed.gained - stratum_share * observed.n))
        )::bigint as gained,
        round(size * observed.n)::bigint as n,
        round(
            size * (average * negative_n + spread * (negative_gained - stratum_share * negative_n))
        )::bigint as negative_gained,
        round(size * negative_n)::bigint as negative_n,
        n_most * size / 1e9 * (observed.n + coalesce(negative_n, 0)) as n_most
    from observed
    inner join factors using (run, measure, relation)
),

estimates as materialized (
    from estimate_shares('observations')
),

averages as (
    select
        run,
        weighting,
        measure,
        any_value(average) as average,
        sum(n_pairs) as n_pairs,
        -- The weights of the relations that have scores; less than 1 if one of them has none.
        sum(weight) > 1 - 1e-9 as is_whole
    from strata
    group by run, weighting, measure
),

scores as (
    select
        averages.run,
        averages.weighting,
        averages.measure,
        averages.n_pairs,
        case when is_whole then averages.average end as score,
        case when is_whole then estimates.ci_low end as ci_low,
        case when is_whole then estimates.ci_high end as ci_high,
        case when is_whole then estimates.fixed_base_ci_low end as fixed_base_ci_low,
        case when is_whole then estimates.fixed_base_ci_high end as fixed_base_ci_high,
        estimates.n_effective
    from averages
    inner join estimates
        on
            estimates.key = struct_pack(averages.run, averages.weighting)
            and estimates.measure = averages.measure
)

select
    weighed_runs.edition_id,
    weighed_runs.model_id,
    weighed_runs.model,
    weighed_runs.method,
    weighed_runs.scoring_policy,
    weighed_runs.repeat,
    weighed_runs.weighting,
    average.score as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    average.n_effective,
    coalesce(average.n_pairs, 0) as n_pairs,
    case when has_mastery then mastery.score end as mastery,
    case when has_mastery then mastery.ci_low end as mastery_ci_low,
    case when has_mastery then mastery.ci_high end as mastery_ci_high,
    case when has_mastery then mastery.fixed_base_ci_low end as mastery_fixed_base_ci_low,
    case when has_mastery then mastery.fixed_base_ci_high end as mastery_fixed_base_ci_high,
    coalesce(mastery.n_pairs, 0) as n_complete_pairs,
    weighed_runs.no_answer_rate,
    weighed_runs.n_errors,
    weighed_runs.error_rate
from (
    select
        *,
        scoring_policy <> 'excluded' or left_out_rate <= 0.2 as has_mastery,
        unnest(['relations', 'pairs']) as weighting
    from runs_of_scores
) as weighed_runs
left join scores as average
    on
        weighed_runs.run = average.run
        and weighed_runs.weighting = average.weighting
        and average.measure = 'average'
left join scores as mastery
    on
        weighed_runs.run = mastery.run
        and weighed_runs.weighting = mastery.weighting
        and mastery.measure = 'mastery'
order by edition_id, model, model_id, method, scoring_policy, repeat, weighed_runs.weighting desc

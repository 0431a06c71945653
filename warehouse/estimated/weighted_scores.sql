-- Adds weighted means to scores, with the grouping_by `weighting`: average accuracy and mastery over the relations of
-- the edition, also where a model was asked different shares of them (pairs_per_relation). group_name:
-- `relations` is the mean over relations, each with the same weight; `pairs` gives a relation the weight of its test
-- pairs in the edition, so it estimates the measure over all of them without bias. `facts` estimates the measure for
-- a fact of the knowledge base: as `pairs`, but within a relation, common and rare tails count as much as the base
-- has of them (tail_commonness of the triplets).
-- The leaderboard counts every asked sample once instead; the intervals are like those there, with
-- relations as strata.
-- Null if a relation has no graded sample (for mastery: no complete pair), and where the leaderboard has no mastery.
-- The weight of a relation is divided among its parts. Under `facts`, these are post-strata (Holt and Smith 1979) of
-- about equal shares of the base, by how common the true tail is: one for 25 test pairs of the relation, at most 20. The
-- most common tails cannot be drawn, so the weight of a post-stratum without a graded pair goes to the next one of rarer
-- tails. Otherwise, the relation is one part.
-- rarer: the share of the base that is rarer than the part.
-- Relations are strata (Cochran 1977, chapter 5): a pair counts in the variance with its deviation from its own
-- relation, times √(m/(m−1)) for the m pairs of a relation; relations with one pair are one stratum together. The
-- deviation is not taken from the post-stratum: a post-stratum of few tails hides how much tails vary. So each
-- pair is observed with its weight, and with the mean plus that deviation.
-- n_most: to how many independent samples the weights amount. The share of a stratum is drawn towards the mean by one
-- observation here, because a large relation of which no pair is mastered would otherwise have no variance. If no
-- pair deviates, each pair is one observation.
-- average: the weighted mean. is_whole: every relation has a pair with a score.
create or replace temp table observations as
with tested as (
    select
        edition_id, pair_id, relation, tail_commonness,
        least(greatest(count(*) over (partition by edition_id, relation) // 25, 1), 20) as n_strata
    from triplets
    where split = 'test' and is_positive
),

observed as (
    select
        run, edition_id, relation, head_cluster, positive_tail_cluster, negative_tail_cluster,
        weighting, tail_commonness,
        case when weighting = 'facts' then least(floor(tail_commonness * n_strata), n_strata - 1) else 0 end as part,
        unnest(['average', 'mastery']) as measure,
        unnest([n_positive_right, is_mastered::integer]) as gained, unnest([n_positive, is_complete::integer]) as n,
        unnest([n_negative_right, null]) as negative_gained, unnest([n_negative, null]) as negative_n,
        unnest([n_positive_right + n_negative_right, is_mastered::integer]) as pair_gained,
        unnest([n_positive + n_negative, is_complete::integer]) as pair_n
    from pair_scores
    inner join (select edition_id, pair_id, tail_commonness, n_strata from tested) using (edition_id, pair_id)
    cross join (values ('relations'), ('pairs'), ('facts')) as weightings (weighting)
),

parts as (
    select
        run, edition_id, measure, weighting, relation, part,
        case when part > 0 then min(tail_commonness) else 0 end as rarer,
        count(*) as n_pairs,
        sum(pair_n) as part_n,
        sum(pair_gained) / part_n as part_share,
        min(pair_gained / pair_n) < max(pair_gained / pair_n) as varies
    from observed
    where pair_n > 0
    group by run, edition_id, measure, weighting, relation, part
),

weights as (
    select
        edition_id, relation,
        unnest(['relations', 'pairs', 'facts']) as weighting,
        count(*) / sum(count(*)) over edition as of_pairs,
        unnest([1 / count(*) over edition, of_pairs, of_pairs]) as relation_weight
    from tested
    group by edition_id, relation
    window edition as (partition by edition_id)
),

weighed as (
    select
        *,
        case when sum(n_pairs) over own > 1 then relation end as stratum,
        relation_weight
            * (
                coalesce(lead(rarer) over rarest, 1)
                - case when row_number() over rarest = 1 then 0 else rarer end
            ) as weight
    from parts
    inner join weights using (edition_id, weighting, relation)
    window
        own as (partition by run, measure, weighting, relation),
        rarest as (partition by run, measure, weighting, relation order by part)
),

strata as (
    select
        *,
        sum(weight * part_share) over whole as average,
        sum(weight) over whole > 1 - 1e-9 as is_whole,
        sum(weight * part_share) over own / sum(weight) over own as share,
        (share * sum(part_n) over own + average) / (sum(part_n) over own + 1) as drawn_share,
        sqrt(sum(n_pairs) over own / greatest(sum(n_pairs) over own - 1, 1)) as spread
    from weighed
    window
        whole as (partition by run, measure, weighting),
        own as (partition by run, measure, weighting, stratum)
),

sized as (
    select
        *,
        weight / part_n as size,
        case
            when bool_or(varies) over whole or count(*) filter (stratum is null) over whole > 1
                then average * (1 - average)
                    / nullif(sum(weight ** 2 / part_n * drawn_share * (1 - drawn_share)) over whole, 0)
            else 1 / sum(weight ** 2 / n_pairs) over whole
        end as n_independent
    from strata
    window whole as (partition by run, measure, weighting)
)

-- size: the weight of a sample.
select
    {'run': run, 'weighting': weighting} as key,
    measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
    average, is_whole,
    size * (average * n + spread * (gained - share * n)) as gained,
    size * n as n,
    size * (average * negative_n + spread * (negative_gained - share * negative_n)) as negative_gained,
    size * negative_n as negative_n,
    n_independent * size * pair_n as n_most
from observed
inner join sized using (run, measure, weighting, relation, part)
where pair_n > 0;

-- The estimates of these observations are computed here (estimation.py).
insert into scores by name
with averages as (
    select key, measure, any_value(average) as average
    from observations
    group by key, measure
    having bool_and(is_whole)
),

weighted as (
    select * from averages inner join estimates using (key, measure)
)

select
    runs.edition_id, runs.model_id, runs.model, runs.method, runs.scoring_policy, runs.repeat, runs.run,
    'weighting' as grouping_by, weighting as group_name,
    list_position(['relations', 'pairs', 'facts'], weighting) as group_position,
    average.average as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    average.n_effective,
    runs.n_pairs,
    mastery.average as mastery,
    mastery.ci_low as mastery_ci_low,
    mastery.ci_high as mastery_ci_high,
    mastery.fixed_base_ci_low as mastery_fixed_base_ci_low,
    mastery.fixed_base_ci_high as mastery_fixed_base_ci_high,
    runs.n_complete_pairs, runs.no_answer_rate, runs.n_errors, runs.error_rate
from scores as runs
cross join (values ('relations'), ('pairs'), ('facts')) as weightings (weighting)
left join weighted as average
    on {'run': runs.run, 'weighting': weighting} = average.key and average.measure = 'average'
left join weighted as mastery
    on {'run': runs.run, 'weighting': weighting} = mastery.key and mastery.measure = 'mastery'
    and runs.mastery is not null
where runs.grouping_by = 'edition'
order by
    runs.edition_id, runs.model, runs.model_id, runs.method, runs.scoring_policy, runs.repeat, group_position

-- One row per edition, setting, model, scoring policy, repeat of the samples, pair and is_negated_included, for the
-- pairs that both methods asked about: what the view facets_and_transformations says, with sets as numbers.
-- facet_set, transformation_set: bit k is the facet, the transformation, at position k; run: that of point_scores.
create macro join_methods() as table
with transformation_sets as (
    select run, pair_id, sum(1::bigint << slot)::bigint as transformation_set
    from (
        select run, pair_id, slot
        from sample_scores
        where period is null and method = 'pretexeval'
        group by run, pair_id, slot
        having count(*) filter (is_correct) = 2
    )
    group by run, pair_id
),

all_facets as (
    from facet_sets
    qualify n_facets = max(n_facets) over (partition by edition_id)
)

select
    points.edition_id, points.setting, points.model_id, points.model, points.scoring_policy,
    pairs.repeat,
    points.run,
    points.relation,
    points.pair_id,
    points.point_id,
    points.head_cluster, points.positive_tail_cluster, points.negative_tail_cluster,
    all_facets.is_negated_included,
    list_sum(
        list_transform(
            [0, 1, 2, 3],
            lambda k: case
                when
                    facet_bits(needed_bits, k) > 0
                    and facet_bits(points.correct_bits & needed_bits, k) = facet_bits(needed_bits, k)
                    then 1 << k
                else 0
            end
        )
    ) as facet_set,
    coalesce(transformation_sets.transformation_set, 0) as transformation_set,
    case
        when points.graded_bits & needed_bits = needed_bits then points.correct_bits & needed_bits = needed_bits
    end as is_mastered_by_facets,
    case when pairs.is_complete then pairs.is_mastered end as is_mastered_by_transformations
from point_scores as points
inner join pair_scores as pairs using (edition_id, model_id, scoring_policy, pair_id)
left join transformation_sets on pairs.run = transformation_sets.run and pairs.pair_id = transformation_sets.pair_id
inner join all_facets on points.edition_id = all_facets.edition_id
where pairs.method = 'pretexeval';

-- Grain: one row per edition, setting, model, scoring policy, repeat of the samples, test pair and is_negated_included.
-- One fact, asked from four sides and in eight transformations: only the pairs of which both were asked.
-- facets: those in which the pair's point is mastered, that is, all its questions of the facet are right; also the
-- negated ones if is_negated_included. transformations: those of the method pretexeval under which the samples of
-- the true and of the false triplet are both right.
-- is_mastered_by_facets: all questions of all facets of the edition are right; null if the point lacks one of them,
-- or one is not graded. is_mastered_by_transformations: mastery, as in the leaderboard; null if the pair is not
-- complete.
create or replace view facets_and_transformations as
with named_facets as (
    select
        sets.range as facet_set,
        coalesce(list(facets.facet order by facets.place) filter (where facets.facet is not null), []) as names
    from range(0, 16) as sets
    left join facets on (sets.range >> facets.position) & 1 = 1
    group by sets.range
)

select
    scores.edition_id, scores.setting, scores.model_id, scores.model, scores.scoring_policy,
    scores.repeat,
    scores.relation,
    points.head,
    scores.pair_id,
    scores.point_id,
    scores.is_negated_included,
    named_facets.names as facets,
    named_transformations.names as transformations,
    len(named_facets.names) as n_facets,
    len(named_transformations.names) as n_transformations,
    scores.is_mastered_by_facets,
    scores.is_mastered_by_transformations
from join_methods() as scores
inner join point_clusters as points using (edition_id, point_id)
inner join named_facets using (facet_set)
inner join name_transformations() as named_transformations using (transformation_set)

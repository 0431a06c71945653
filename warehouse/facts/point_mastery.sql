-- Grain: one row per edition, setting, model, scoring policy, test point and is_negated_included.
-- The facets in which the model masters a point, in the paper's order. It masters the point in several facets if it
-- does so in each. A point has a facet if it has all its questions: as many of each form as any point of the edition.
-- is_mastered is null if a question is not graded.
create table point_mastery as
with forms as (
    select edition_id, point_id, facet, is_negated, answer like 'F|%' as is_wrong_offered, count(*) as n
    from questions
    where split = 'test'
    group by all
),

most_asked as (
    select edition_id, facet, is_negated, is_wrong_offered, max(n) as n
    from forms
    group by all
),

needed as (
    select
        edition_id, is_negated_included, facet,
        sum(n) as n_needed,
        count(*) over edition as n_facets,
        row_number() over (edition order by place_facet(facet)) - 1 as n_before
    from most_asked
    inner join (values (false), (true)) as negations (is_negated_included) on is_negated_included or not is_negated
    group by edition_id, is_negated_included, facet
    window edition as (partition by edition_id, is_negated_included)
),

asked as (
    select distinct run, edition_id, point_id
    from point_scores
),

facet_scores as (
    select
        asked.*, needed.* exclude (edition_id),
        sum(columns(['n_asked', 'n_graded', 'n_right'])) filter (needed.is_negated_included or not scores.is_negated)
    from asked
    inner join needed using (edition_id)
    left join point_scores as scores
        on asked.run = scores.run and asked.point_id = scores.point_id and needed.facet = scores.facet
    group by all
),

mastery as (
    select
        run, edition_id, point_id, is_negated_included, n_facets,
        coalesce(min(n_before) filter (n_asked is distinct from n_needed), n_facets) as n_whole_facets,
        coalesce(min(n_before) filter (n_graded is distinct from n_needed), n_facets) as n_graded_facets,
        coalesce(min(n_before) filter (n_right is distinct from n_needed), n_facets) as n_mastered_facets
    from facet_scores
    group by run, edition_id, point_id, is_negated_included, n_facets
)

select
    run, edition_id, setting, model_id, model, scoring_policy, points.relation, head, point_id, points.pair_id,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    is_negated_included, n_whole_facets, n_graded_facets, n_mastered_facets,
    case when n_graded_facets = n_facets then n_mastered_facets = n_facets end as is_mastered
from mastery
inner join (select distinct run, setting, model_id, model, scoring_policy from point_scores) using (run)
inner join storage.point_clusters as points using (edition_id, point_id)

-- Grain: one row per edition, setting, model, scoring policy, test point and is_negated_included.
-- The facets in which the model masters a point. It masters the point in several facets if it does so in each.
-- whole_facets: the facets of which the point has all questions: as many of each form as any point of the edition.
-- is_negated_included: whether the negated questions are needed, too.
-- graded_facets, mastered_facets: the whole facets with all questions graded, and with all of them right.
-- is_whole, is_mastered: likewise for all facets of the edition; is_mastered is null if a question is not graded.
-- run is that of point_scores, the clusters are those of point_clusters.
create table point_mastery as
with forms as (
    select edition_id, point_id, facet, is_negated, answer like 'F|%' as is_wrong_offered, count(*) as n
    from questions
    semi join storage.scope using (edition_id)
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
        most_asked.edition_id,
        most_asked.facet,
        facets.place,
        negations.is_negated_included,
        sum(most_asked.n) as n_needed,
        count(*) over (partition by most_asked.edition_id, negations.is_negated_included) as n_facets
    from most_asked
    inner join facets using (facet)
    inner join (values (false), (true)) as negations (is_negated_included)
        on negations.is_negated_included or not most_asked.is_negated
    group by most_asked.edition_id, most_asked.facet, facets.place, negations.is_negated_included
),

facet_scores as (
    select
        scores.run,
        scores.edition_id,
        scores.point_id,
        needed.is_negated_included,
        needed.n_facets,
        needed.facet,
        needed.place,
        needed.n_needed,
        sum(columns(['n_asked', 'n_graded', 'n_right'])) filter (
            where needed.is_negated_included or not scores.is_negated
        )
    from point_scores as scores
    semi join storage.scope using (edition_id, model_id)
    inner join needed using (edition_id, facet)
    group by
        scores.run, scores.edition_id, scores.point_id,
        needed.is_negated_included, needed.n_facets, needed.facet, needed.place, needed.n_needed
),

mastery as (
    select
        run,
        edition_id,
        point_id,
        is_negated_included,
        any_value(n_facets) as n_facets,
        coalesce(list(facet order by place) filter (where n_asked = n_needed), []) as whole_facets,
        coalesce(list(facet order by place) filter (where n_graded = n_needed), []) as graded_facets,
        coalesce(list(facet order by place) filter (where n_right = n_needed), []) as mastered_facets
    from facet_scores
    group by run, edition_id, point_id, is_negated_included
),

runs_asked as (
    select distinct run, edition_id, setting, model_id, model, scoring_policy
    from point_scores
)

select
    mastery.run,
    runs_asked.edition_id, runs_asked.setting, runs_asked.model_id, runs_asked.model, runs_asked.scoring_policy,
    points.relation, points.head, points.point_id, points.pair_id,
    points.head_cluster, points.positive_tail_cluster, points.negative_tail_cluster,
    mastery.is_negated_included,
    mastery.whole_facets, mastery.graded_facets, mastery.mastered_facets,
    len(mastery.whole_facets) = mastery.n_facets as is_whole,
    case
        when len(mastery.graded_facets) = mastery.n_facets then len(mastery.mastered_facets) = mastery.n_facets
    end as is_mastered
from mastery
inner join runs_asked using (run)
inner join point_clusters as points on mastery.edition_id = points.edition_id and mastery.point_id = points.point_id

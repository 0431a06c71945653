-- Grain: one row per edition, setting, model, scoring policy, facet_order, step and is_negated_included.
-- The share of mastered points p(M) as facets are added (MultifacetEval, equations 2 and 3; figure 6): a point is
-- mastered if all its questions of the facets so far are right. facet_order: one of the 24 orders of the facets;
-- is_paper_order: comparison, verification, rectification, discrimination. Step k adds the k-th facet to the
-- facets before. is_negated_included: whether the negated questions must be right, too; the paper leaves them out.
-- n_points: the points that have every question that the edition asks about a point in these facets, all of them
-- graded. n_incomplete_points: those that lack a question, such as a negated one for which the base has too few
-- facts. left_out_rate: of the points that lack none, the share with a question that is not graded; under
-- `excluded` the shares are null where it is above 0.2, because the rest is the model's own selection.
-- mastered_rate: p(M), n_mastered of the n_points. mastered_rate_ci_low, mastered_rate_ci_high, …: 95 % intervals for new facts like these, and
-- with the base held fixed, as in facet_accuracy. no_answer_rate, …: over the questions of these facets.
-- An edition without questions of a facet has no rows for the steps with that facet.
create or replace view mastered_points as
with steps as (
    select
        a.facet || ', ' || b.facet || ', ' || c.facet || ', ' || d.facet as facet_order,
        a.place < b.place and b.place < c.place and c.place < d.place as is_paper_order,
        unnest([1, 2, 3, 4]) as step,
        unnest([a.facet, b.facet, c.facet, d.facet]) as facet,
        [a.facet, b.facet, c.facet, d.facet] as whole_order,
        unnest(
            [
                1 << a.position,
                (1 << a.position) | (1 << b.position),
                (1 << a.position) | (1 << b.position) | (1 << c.position),
                15
            ]
        ) as facet_set
    from facets as a
    inner join facets as b on a.facet <> b.facet
    inner join facets as c on c.facet not in (a.facet, b.facet)
    inner join facets as d on d.facet not in (a.facet, b.facet, c.facet)
)

select
    scores.edition_id, scores.setting, scores.model_id, scores.model, scores.scoring_policy,
    steps.facet_order,
    steps.is_paper_order,
    steps.step,
    steps.facet,
    steps.whole_order[:steps.step] as facets,
    scores.is_negated_included,
    scores.n_points,
    scores.n_incomplete_points,
    scores.left_out_rate,
    scores.n_mastered,
    scores.mastered_rate,
    scores.mastered_rate_ci_low,
    scores.mastered_rate_ci_high,
    scores.mastered_rate_fixed_base_ci_low,
    scores.mastered_rate_fixed_base_ci_high,
    scores.n_effective,
    scores.no_answer_rate,
    scores.unfinished_reasoning_rate,
    scores.n_errors,
    scores.error_rate
from mastered_scores as scores
inner join steps using (facet_set)
order by
    edition_id, setting, model, model_id, scoring_policy, is_paper_order desc, facet_order,
    is_negated_included, step

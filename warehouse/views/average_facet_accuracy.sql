-- Grain: one row per edition, setting, model, scoring policy and is_negated (null: all of its questions).
-- average_accuracy: the mean of the accuracies of the facets (facet_accuracy), the macro average of the paper's
-- tables; each facet has the same weight. Null if a facet about which the edition asks has no accuracy.
-- ci_low, ci_high: 95 % interval for new facts like these; the answers about a point are correlated over all facets,
-- and so are points that share a head or a tail. fixed_base_ci_low, …: only points are clusters (estimate_shares).
-- n_effective: the effective number of heads or tails. Below 20, ci_low and ci_high are only a rough guide.
-- random_baseline: the mean over the facets. n_questions: graded questions; n_points: the points that are counted in any
-- facet.
create or replace view average_facet_accuracy as
select
    edition_id,
    setting,
    model_id,
    model,
    scoring_policy,
    is_negated,
    n_facets,
    n_questions,
    n_points,
    average_accuracy,
    ci_low,
    ci_high,
    fixed_base_ci_low,
    fixed_base_ci_high,
    n_effective,
    random_baseline
from average_scores

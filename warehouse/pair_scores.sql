-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- What score_pairs says about the answers to the samples. This is a table, because every accuracy is a sum over these
-- rows, and the table spares each query the join of millions of predictions with their samples. The clusters are
-- those of pair_clusters. Evaluations with too many failed prompts (error_counts.sql) have no rows, so that no view
-- shows their scores.
create table pair_scores as
with answered as (
    select predictions.*, null::varchar as period
    from predictions
    semi join (from error_counts where setting is null and is_evaluated) as evaluated
        on predictions.edition_id = evaluated.edition_id and predictions.model_id = evaluated.model_id
)

select
    scores.* exclude (period),
    pair_clusters.head_cluster, pair_clusters.positive_tail_cluster, pair_clusters.negative_tail_cluster,
    shortcuts.shortcut,
    shortcuts.mastery as shortcut_mastery
from score_pairs('answered') as scores
inner join pair_clusters using (edition_id, pair_id)
inner join shortcut_scores as shortcuts
    on
        scores.edition_id = shortcuts.edition_id
        and scores.method = shortcuts.method
        and scores.pair_id = shortcuts.pair_id
        and shortcuts.baseline = 'best'
order by edition_id, model_id, scores.method, scoring_policy, repeat, scores.relation, pair_id

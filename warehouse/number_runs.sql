-- Give the rows of all sums the numbers that their runs and clusters have among all that are in the warehouse now.
-- Most numbers stay as they are if an edition or a model was added, and only rows with other numbers are written.

update pair_scores
set
    head_cluster = clusters.head_cluster,
    positive_tail_cluster = clusters.positive_tail_cluster,
    negative_tail_cluster = clusters.negative_tail_cluster
from pair_clusters as clusters
where
    pair_scores.edition_id = clusters.edition_id
    and pair_scores.pair_id = clusters.pair_id
    and (
        pair_scores.head_cluster <> clusters.head_cluster
        or pair_scores.positive_tail_cluster <> clusters.positive_tail_cluster
        or pair_scores.negative_tail_cluster <> clusters.negative_tail_cluster
    );

update pair_scores
set run = numbered.run
from (
    select
        *,
        row_number() over (order by edition_id, model_id, method, scoring_policy, repeat)::integer as run
    from (select distinct edition_id, model_id, method, scoring_policy, repeat from pair_scores)
) as numbered
where
    pair_scores.edition_id = numbered.edition_id
    and pair_scores.model_id = numbered.model_id
    and pair_scores.method = numbered.method
    and pair_scores.scoring_policy = numbered.scoring_policy
    and pair_scores.repeat = numbered.repeat
    and pair_scores.run <> numbered.run;

update point_scores
set
    head_cluster = clusters.head_cluster,
    positive_tail_cluster = clusters.positive_tail_cluster,
    negative_tail_cluster = clusters.negative_tail_cluster
from point_clusters as clusters
where
    point_scores.edition_id = clusters.edition_id
    and point_scores.point_id = clusters.point_id
    and (
        point_scores.head_cluster <> clusters.head_cluster
        or point_scores.positive_tail_cluster <> clusters.positive_tail_cluster
        or point_scores.negative_tail_cluster <> clusters.negative_tail_cluster
    );

update point_scores
set run = numbered.run
from (
    select *, row_number() over (order by edition_id, setting, model_id, scoring_policy)::integer as run
    from (select distinct edition_id, setting, model_id, scoring_policy from point_scores)
) as numbered
where
    point_scores.edition_id = numbered.edition_id
    and point_scores.setting = numbered.setting
    and point_scores.model_id = numbered.model_id
    and point_scores.scoring_policy = numbered.scoring_policy
    and point_scores.run <> numbered.run;

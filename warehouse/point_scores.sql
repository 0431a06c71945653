-- Grain: one row per edition, setting, model, scoring policy and test point.
-- What pair_scores is for samples: bit sets of the point's questions (question_slots), over which every score is
-- a sum. asked ⊇ failed: no repeat has a response. asked ⊇ unanswered: no repeat has an answer, under any policy.
-- unanswered ⊇ unfinished: the thought of one of its repeats did not end.
-- asked ⊇ graded (is_correct is not null) ⊇ correct.
-- run: a hash of edition, setting, model and scoring policy. The clusters are those of point_clusters.
-- Evaluations with too many failed questions (error_counts) have no rows.
create table point_scores as
with unfinished as (
    select distinct edition_id, setting, model_id, question_id, true as is_unfinished
    from question_answers
    where is_unfinished_reasoning
),

bit_sets as (
    select
        predictions.edition_id, predictions.setting, predictions.model_id, predictions.scoring_policy,
        slots.point_id,
        bit_or(slots.bit) as asked_bits,
        bit_or(if(error is not null, slots.bit, 0)) as failed_bits,
        bit_or(if(n_answers = 0 and error is null, slots.bit, 0)) as unanswered_bits,
        bit_or(if(n_answers = 0 and error is null and is_unfinished, slots.bit, 0)) as unfinished_bits,
        bit_or(if(is_correct is not null, slots.bit, 0)) as graded_bits,
        bit_or(if(is_correct, slots.bit, 0)) as correct_bits
    from question_predictions as predictions
    inner join question_slots as slots using (edition_id, question_id)
    left join unfinished using (edition_id, setting, model_id, question_id)
    semi join (from error_counts where is_evaluated) as evaluated
        on predictions.edition_id = evaluated.edition_id
        and predictions.setting = evaluated.setting
        and predictions.model_id = evaluated.model_id
    group by all
)

select
    hash(bit_sets.edition_id, bit_sets.setting, bit_sets.model_id, bit_sets.scoring_policy) as run,
    bit_sets.edition_id,
    bit_sets.setting,
    bit_sets.model_id,
    models.name as model,
    bit_sets.scoring_policy,
    points.relation,
    bit_sets.point_id,
    points.pair_id,
    points.head_cluster, points.positive_tail_cluster, points.negative_tail_cluster,
    points.n_offered_options,
    bit_sets.asked_bits,
    bit_sets.failed_bits,
    bit_sets.unanswered_bits,
    bit_sets.unfinished_bits,
    bit_sets.graded_bits,
    bit_sets.correct_bits
from bit_sets
inner join models using (model_id)
inner join point_clusters as points using (edition_id, point_id)
order by edition_id, setting, model_id, scoring_policy, relation, point_id

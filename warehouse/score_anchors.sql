-- One row per edition of anchors, period, model, method, scoring policy, repeat and pair, with the columns of
-- pair_scores that compare_scores needs. Bit sets as in pair_scores. Evaluations with too many failed prompts have no
-- rows. There are no shortcuts, because anchors are compared only with themselves.
create macro score_anchors() as table
with placed as (
    select
        samples.edition_id,
        samples.sample_id,
        samples.method,
        samples.relation,
        samples.pair_id,
        (
            1::uinteger << (
                coalesce(transformations.position, samples.sample_index)
                + case when triplets.is_positive then 0 else 8 end
            )
        )::usmallint as bit
    from samples
    inner join editions using (edition_id)
    inner join triplets using (edition_id, triplet_id)
    left join transformations using (transformation)
    where editions.is_anchors and samples.split = 'test'
),

bit_sets as (
    select
        answered.edition_id,
        answered.period,
        answered.model_id,
        placed.method,
        answered.scoring_policy,
        answered.repeat,
        placed.relation,
        placed.pair_id,
        bit_or(placed.bit) as asked_bits,
        bit_or(case when answered.error is not null then bit else 0 end)::usmallint as failed_bits,
        bit_or(case when answered.is_correct is not null then bit else 0 end)::usmallint as graded_bits,
        bit_or(case when answered.is_correct then bit else 0 end)::usmallint as correct_bits,
        bit_or(case when answered.prediction then bit else 0 end)::usmallint as true_bits,
        bit_or(
            bit_or(case when prediction is null and error is null then bit else 0 end)::usmallint
        ) over (
            partition by
                answered.edition_id,
                answered.period,
                answered.model_id,
                placed.method,
                answered.repeat,
                placed.pair_id
        ) as unanswered_bits
    from anchor_predictions as answered
    inner join placed
        on answered.edition_id = placed.edition_id and answered.sample_id = placed.sample_id
    semi join (
        select edition_id, period, model_id from runs where n_errors <= max_error_rate * n_items * n_repeats
    ) as evaluated
        on answered.edition_id = evaluated.edition_id
        and answered.period = evaluated.period
        and answered.model_id = evaluated.model_id
    group by
        answered.edition_id,
        answered.period,
        answered.model_id,
        placed.method,
        answered.scoring_policy,
        answered.repeat,
        placed.relation,
        placed.pair_id
)

select
    dense_rank() over (
        order by
            bit_sets.edition_id,
            bit_sets.period,
            bit_sets.model_id,
            bit_sets.method,
            bit_sets.scoring_policy,
            bit_sets.repeat
    )::integer as run,
    bit_sets.edition_id,
    bit_sets.period,
    bit_sets.model_id,
    models.name as model,
    bit_sets.method,
    bit_sets.scoring_policy,
    bit_sets.repeat,
    bit_sets.relation,
    bit_sets.pair_id,
    samples_per_triplet(bit_sets.method) as k,
    pair_clusters.head_cluster,
    pair_clusters.positive_tail_cluster,
    pair_clusters.negative_tail_cluster,
    bit_count(asked_bits)::integer as n_asked,
    bit_count(failed_bits)::integer as n_errors,
    bit_count(unanswered_bits)::integer as n_no_answer,
    bit_count(positive_bits(graded_bits)) = k and bit_count(negative_bits(graded_bits)) = k as is_complete,
    bit_count(correct_bits) = 2 * k as is_mastered,
    null::varchar as shortcut,
    null::double as shortcut_mastery,
    asked_bits,
    failed_bits,
    graded_bits,
    correct_bits,
    unanswered_bits,
    true_bits & ~unanswered_bits as answered_true_bits,
    0::usmallint as unfinished_bits
from bit_sets
inner join models using (model_id)
inner join pair_clusters using (edition_id, pair_id);

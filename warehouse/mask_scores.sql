-- The rows of pair_scores with only some of their samples, for measure_scores. `masks` names a query with one
-- row per part: part, bits (the samples that count) and k (how many a triplet has). Methods without
-- transformations (llmeval) have no rows.
create macro mask_scores(masks) as table
select
    pair_scores.* replace (
        asked_bits & bits as asked_bits,
        failed_bits & bits as failed_bits,
        unanswered_bits & bits as unanswered_bits,
        unfinished_bits & bits as unfinished_bits,
        answered_true_bits & bits as answered_true_bits,
        graded_bits & bits as graded_bits,
        correct_bits & bits as correct_bits,
        masks.k as k
    ),
    masks.part
from pair_scores
cross join query_table(masks) as masks
where pair_scores.method <> 'llmeval';

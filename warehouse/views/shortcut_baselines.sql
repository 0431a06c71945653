-- Grain: one row per edition, method, relation (null: all of them) and baseline.
-- What somebody without medical knowledge would score on the test samples (method, section 4), to read beside
-- every score:
--   always_true     says True to everything;
--   polarity        says True to what is affirmed and False to what is denied;
--   tail_frequency  believes a triplet according to how often its tail occurs among the relation's positive
--                   test triplets;
--   word_overlap    believes a triplet according to how many words head and tail share.
-- The last two use the threshold and the direction that are best for the relation, chosen on the test
-- triplets themselves: an upper bound on what such a shortcut can score. They guess the truth of the triplet,
-- then reverse it where the sample is negated (label <> is_positive).
-- average_accuracy (pair as the cluster), joint_accuracy of triplets and mastery of pairs, each with its 95 %
-- interval. A baseline always answers: no_answer_rate is 0.
create or replace view shortcut_baselines as
with test_triplets as (
    select edition_id, triplet_id, pair_id, relation, head, tail, is_positive
    from triplets
    where split = 'test'
),

tail_counts as (
    select edition_id, relation, tail, count(*) filter (where is_positive) as n_positives
    from test_triplets
    group by edition_id, relation, tail
),

clues as (
    select
        test_triplets.edition_id,
        test_triplets.relation,
        test_triplets.triplet_id,
        test_triplets.is_positive,
        'tail_frequency' as baseline,
        tail_counts.n_positives as clue
    from test_triplets
    inner join tail_counts using (edition_id, relation, tail)
    union all
    select
        edition_id,
        relation,
        triplet_id,
        is_positive,
        'word_overlap' as baseline,
        len(
            list_intersect(
                regexp_extract_all(lower(head), '[\p{L}\p{N}]+'),
                regexp_extract_all(lower(tail), '[\p{L}\p{N}]+')
            )
        ) as clue
    from test_triplets
),

clue_values as (
    select
        edition_id,
        relation,
        baseline,
        clue,
        count(*) filter (where is_positive) as n_positive,
        count(*) filter (where not is_positive) as n_negative
    from clues
    group by edition_id, relation, baseline, clue
),

-- n_right: right guesses if triplets at or above the clue are called true and those below it false. The
-- other direction is right wherever this one is wrong. The lowest clue gives all triplets the same answer.
thresholds as (
    select
        edition_id,
        relation,
        baseline,
        clue as threshold,
        sum(n_positive) over at_or_above + sum(n_negative) over whole
        - sum(n_negative) over at_or_above as n_right,
        sum(n_positive + n_negative) over whole as n_triplets
    from clue_values
    window
        whole as (partition by edition_id, relation, baseline),
        at_or_above as (
            partition by edition_id, relation, baseline
            order by clue desc rows between unbounded preceding and current row
        )
),

best as (
    select
        edition_id,
        relation,
        baseline,
        threshold,
        2 * n_right >= n_triplets as is_true_above
    from thresholds
    qualify row_number() over (
        partition by edition_id, relation, baseline
        order by
            greatest(n_right, n_triplets - n_right) desc,
            2 * n_right >= n_triplets desc,
            threshold
    ) = 1
),

guesses as (
    select
        clues.edition_id,
        clues.triplet_id,
        clues.baseline,
        ((clues.clue >= best.threshold) = best.is_true_above) = clues.is_positive as is_right
    from clues
    inner join best using (edition_id, relation, baseline)
),

questions as (
    select
        samples.edition_id,
        samples.method,
        test_triplets.relation,
        test_triplets.pair_id,
        samples.triplet_id,
        test_triplets.is_positive,
        count(*) as n_samples,
        count(*) filter (where samples.label) as n_true
    from samples
    inner join test_triplets using (edition_id, triplet_id)
    group by
        samples.edition_id,
        samples.method,
        test_triplets.relation,
        test_triplets.pair_id,
        samples.triplet_id,
        test_triplets.is_positive
),

answered as (
    select questions.*, 'always_true' as baseline, n_true as n_right from questions
    union all
    select
        questions.*,
        'polarity' as baseline,
        case when is_positive then n_samples else 0 end as n_right
    from questions
    union all
    select
        questions.*,
        guesses.baseline,
        case when guesses.is_right then questions.n_samples else 0 end as n_right
    from questions
    inner join guesses using (edition_id, triplet_id)
),

by_pair as (
    select
        edition_id,
        method,
        relation,
        baseline,
        pair_id,
        sum(n_samples)::bigint as n_samples,
        sum(n_right)::bigint as n_right,
        count(*) filter (where n_samples = samples_per_triplet(method)) as n_triplets,
        count(*) filter (
            where n_samples = samples_per_triplet(method) and n_right = n_samples
        ) as n_triplets_right
    from answered
    group by edition_id, method, relation, baseline, pair_id
),

measured as (
    select
        edition_id,
        method,
        relation,
        baseline,
        sum(n_samples)::bigint as n_samples,
        count(*) as n_pairs,
        share(n_right, n_samples) as average_accuracy,
        cluster_low(n_right, n_samples) as ci_low,
        cluster_high(n_right, n_samples) as ci_high,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as joint_ci_low,
        cluster_high(n_triplets_right, n_triplets) as joint_ci_high,
        count(*) filter (where n_triplets = 2) as n_complete_pairs,
        share((n_triplets_right = 2)::integer, (n_triplets = 2)::integer) as mastery
    from by_pair
    group by grouping sets (
        (edition_id, method, relation, baseline),
        (edition_id, method, baseline)
    )
)

select
    edition_id,
    method,
    relation,
    baseline,
    n_samples,
    n_pairs,
    average_accuracy,
    ci_low,
    ci_high,
    joint_accuracy,
    joint_ci_low,
    joint_ci_high,
    n_complete_pairs,
    mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    0.0::double as no_answer_rate
from measured
order by edition_id, method, relation nulls first, baseline

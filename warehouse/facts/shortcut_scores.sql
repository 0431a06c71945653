-- Grain: one row per edition, method, baseline and test pair.
-- The scores of somebody without medical knowledge on each pair. The table shortcut_baselines adds it up, and
-- the leaderboard subtracts it from the mastery of the models.
--   always_true      says True to everything;
--   polarity         says True to what is affirmed and False to what is denied, and so affirms every fact;
--   denial           says the opposite, and so denies every fact, as models do that deny what they do not know;
--   consistent_coin  tosses one coin per triplet and answers all its samples accordingly;
--   tail_frequency   believes a triplet according to how often its tail occurs in the relation's true test triplets;
--   word_overlap     believes a triplet according to how many words head and tail share;
--   overlap          believes what the overlap guesser believes (tasks/quality/guesses.py), which was trained
--                    on other heads; only in editions whose guesses were measured;
--   neighbour        believes a triplet according to how likely the other facts of the base make it; trained on
--                    other heads likewise. It knows the base, so it is no shortcut, and best leaves it out;
--   best             in each relation, the one of the shortcuts above that masters most pairs there (then: has
--                    the highest average accuracy; then: comes first by name).
-- tail_frequency and word_overlap use the threshold and the direction that are best for the relation, chosen on
-- the test triplets themselves, and best is chosen by its result: upper bounds on what such shortcuts can score.
-- Those that judge triplets reverse their guess where the sample is negated (label <> is_positive).
-- The coin's n_right, n_triplets_right and mastery are expected values: one half, one half, and one quarter where the
-- pair is complete. They are not tossed, because a lucky or unlucky toss would say nothing about a model.
create table shortcut_scores as
with test_triplets as (
    select *
    from triplets
    where split = 'test'
),

clues as (
    select
        edition_id, relation, triplet_id, is_positive,
        unnest(['tail_frequency', 'word_overlap']) as baseline,
        unnest([
            count(*) filter (is_positive) over (partition by edition_id, relation, tail),
            len(list_intersect(
                regexp_extract_all(lower(head), '[\p{L}\p{N}]+'), regexp_extract_all(lower(tail), '[\p{L}\p{N}]+')
            ))
        ]) as clue
    from test_triplets
),

clue_values as (
    select
        edition_id, relation, baseline, clue,
        count(*) filter (is_positive) as n_positive,
        count(*) filter (not is_positive) as n_negative
    from clues
    group by edition_id, relation, baseline, clue
),

-- n_right: right guesses if triplets at or above the clue are called true and those below it false. The
-- other direction is right wherever this one is wrong. The lowest clue gives all triplets the same answer.
thresholds as (
    select
        edition_id, relation, baseline, clue as threshold,
        sum(n_positive) over at_or_above + sum(n_negative) over whole - sum(n_negative) over at_or_above as n_right,
        sum(n_positive + n_negative) over whole as n_triplets,
        2 * n_right >= n_triplets as is_true_above
    from clue_values
    window
        whole as (partition by edition_id, relation, baseline),
        at_or_above as (whole order by clue desc rows between unbounded preceding and current row)
),

chosen_thresholds as (
    select edition_id, relation, baseline, threshold, is_true_above
    from thresholds
    qualify row_number() over (
        partition by edition_id, relation, baseline
        order by greatest(n_right, n_triplets - n_right) desc, is_true_above desc, threshold
    ) = 1
),

judged as (
    select edition_id, triplet_id, baseline, ((clue >= threshold) = is_true_above) = is_positive as is_right
    from clues
    inner join chosen_thresholds using (edition_id, relation, baseline)
    union all
    select edition_id, triplet_id, unnest(['overlap', 'neighbour']), unnest([overlap_guess, neighbour_guess]) = is_positive
    from test_triplets
    where overlap_guess is not null
),

questions as (
    select
        edition_id, samples.method, test_triplets.relation, test_triplets.pair_id, triplet_id, is_positive,
        count(*) as n_samples,
        count(*) filter (label) as n_true
    from samples
    inner join test_triplets using (edition_id, triplet_id)
    group by all
),

answered as (
    select
        *,
        unnest(['always_true', 'polarity', 'denial', 'consistent_coin']) as baseline,
        unnest([n_true, n_samples * is_positive::integer, n_samples * (not is_positive)::integer, n_samples / 2])
            as n_right
    from questions
    union all
    select questions.*, baseline, n_samples * is_right::integer
    from questions
    inner join judged using (edition_id, triplet_id)
),

by_triplet as (
    select
        *,
        baseline = 'consistent_coin' as is_expected,
        n_samples = samples_per_triplet(method) as is_whole,
        case
            when not is_whole then 0
            when is_expected then 0.5
            else (n_right = n_samples)::integer
        end as whole_right
    from answered
),

by_pair as (
    select
        edition_id, method, relation, pair_id, baseline,
        any_value(is_expected) as is_expected,
        count(*) as n_judged, sum(n_samples)::bigint as n_samples, sum(n_right) as n_right,
        coalesce(sum(n_samples) filter (is_positive), 0)::bigint as n_positive,
        coalesce(sum(n_right) filter (is_positive), 0) as n_positive_right,
        count(*) filter (is_whole) as n_triplets, sum(whole_right) as n_triplets_right,
        count(*) filter (is_whole and is_positive) as n_positive_triplets,
        coalesce(sum(whole_right) filter (is_positive), 0) as n_positive_triplets_right,
        n_triplets = 2 as is_complete,
        case
            when not is_complete then 0
            when any_value(is_expected) then 0.25
            else (n_triplets_right = 2)::integer
        end::double as mastery
    from by_triplet
    group by edition_id, method, relation, pair_id, baseline
),

best as (
    select edition_id, method, relation, baseline
    from by_pair
    where baseline <> 'neighbour'
    group by edition_id, method, relation, baseline
    qualify row_number() over (
        partition by edition_id, method, relation
        order by
            share(mastery, is_complete::integer) desc nulls last, share(n_right, n_samples) desc, baseline
    ) = 1
),

scored as (
    select *, baseline as shortcut
    from by_pair
    union all
    select by_pair.* replace ('best' as baseline), baseline
    from by_pair
    inner join best using (edition_id, method, relation, baseline)
)

select
    edition_id, method, relation, pair_id, baseline, shortcut, is_expected, n_samples, n_right, n_judged,
    n_positive, n_positive_right, n_triplets, n_triplets_right, n_positive_triplets, n_positive_triplets_right,
    is_complete, mastery
from scored
order by edition_id, method, baseline, relation, pair_id

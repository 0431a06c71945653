-- Grain: one row per edition, method and rephraser.
-- The fate of the rewordings of the test samples (method, sections 2.6 and 4). Of the n_samples,
-- accepted_rate was accepted: by the gate if a language model wrote it, by a reviewer if the rephraser is
-- `reviewed`. fallback_rate fell back to the statement. as_is_rate is as written: a statement, a text of
-- llmeval, a rewording that no gate checked (gate = "off"), or a wording of a pool that nobody has reviewed.
-- Of the n_attempts to reword them, acceptance_rate passed; it is null where the gate was off. About wrong_rate of the
-- texts that the gate accepted from a language model are wrong, and it allowed them max_new_words, null for any
-- number (docs/rephrasing.md); both are of the whole edition. The view rejection_reasons has the reasons for the rejected
-- attempts.
-- n_incomplete_triplets: test triplets with fewer than K samples, or none (llmeval with too few usable lines); joint
-- accuracy leaves them out.
-- lexical_distance, …: diversity from 0 to 1, means over n_measured samples (tasks/quality/diversity.py): changed words
-- (lexical) or parts of speech (structural), against the statement (_distance) or against the other samples of the
-- triplet and method (_spread; null for one sample per triplet).
create or replace view sample_quality as
with tested as (
    select * from samples where split = 'test'
),

by_method as (
    select
        edition_id, method, rephraser,
        count(*) as n_samples,
        count(*) filter (status = 'accepted') / n_samples as accepted_rate,
        count(*) filter (status = 'fallback') / n_samples as fallback_rate,
        count(*) filter (status = 'as_is') / n_samples as as_is_rate,
        avg(attempts) as mean_attempts,
        count(lexical_distance) as n_measured,
        avg(columns(['lexical_distance', 'structural_distance', 'lexical_spread', 'structural_spread']))
    from tested
    group by edition_id, method, rephraser
),

complete as (
    select edition_id, method, rephraser, count(*) as n_complete_triplets
    from (select edition_id, method, rephraser, triplet_id, count(*) as n from tested group by all) as by_triplet
    where n = samples_per_triplet(method)
    group by edition_id, method, rephraser
),

test_triplets as (
    select edition_id, count(*) as n_triplets from triplets where split = 'test' group by edition_id
),

tried as (
    select
        attempts.edition_id,
        'pretexeval' as method,
        attempts.rephraser,
        count(*) as n_attempts,
        avg(is_accepted::integer)
        filter ((configuration ->> '$.rephraser.gate') is distinct from 'off') as acceptance_rate,
        (any_value(wrong_texts) ->> '$.wrong_rate')::double as wrong_rate,
        (any_value(wrong_texts) ->> '$.low')::double as wrong_rate_ci_low,
        (any_value(wrong_texts) ->> '$.high')::double as wrong_rate_ci_high,
        (any_value(wrong_texts) ->> '$.max_new_words')::integer as max_new_words
    from attempts
    inner join editions using (edition_id)
    semi join (select * from tested where method = 'pretexeval') using (edition_id, variant_id)
    group by attempts.edition_id, attempts.rephraser
)

select
    edition_id, method, rephraser,
    n_samples, accepted_rate, fallback_rate, as_is_rate, mean_attempts,
    coalesce(n_attempts, 0) as n_attempts, acceptance_rate,
    wrong_rate, wrong_rate_ci_low, wrong_rate_ci_high, max_new_words,
    n_triplets, n_triplets - coalesce(n_complete_triplets, 0) as n_incomplete_triplets,
    n_measured, lexical_distance, structural_distance, lexical_spread, structural_spread
from by_method
inner join test_triplets using (edition_id)
left join complete using (edition_id, method, rephraser)
left join tried using (edition_id, method, rephraser)
order by edition_id, method, rephraser

-- Grain: one row per edition, method and rephraser.
-- What happened to the rewordings of the test samples (method, sections 2.6 and 4). Of the n_samples,
-- accepted_rate was accepted: by the gate if a language model wrote it, by a reviewer if the rephraser is
-- `reviewed`. fallback_rate fell back to the statement. as_is_rate is as written: a statement, a text of
-- llmeval, a rewording that no gate checked (gate = "off"), or a wording of a pool that nobody has reviewed.
-- mean_attempts is the mean number of attempts per sample. Of the n_attempts to reword them, acceptance_rate
-- passed; it is null where the gate was off. About wrong_rate (wrong_rate_ci_low to wrong_rate_ci_high) of the
-- texts that the gate accepted from a language model are wrong, and it allowed them max_new_words, null for any
-- number (docs/gate.md); both are of the whole edition. n_judged attempts have both verdicts of the judge;
-- judge_agreement is the share with yes in both (the text follows from the statement, and the statement from the
-- text). The view rejection_reasons has the reasons for the rejected attempts.
-- n_triplets: the edition's test triplets. n_incomplete_triplets: those with fewer than K samples, or none
-- (llmeval with too few usable lines); joint accuracy leaves them out.
create or replace view sample_quality as
with by_triplet as (
    select
        edition_id,
        method,
        rephraser,
        triplet_id,
        count(*) as n_samples,
        count(*) filter (where status = 'accepted') as n_accepted,
        count(*) filter (where status = 'fallback') as n_fallback,
        count(*) filter (where status = 'as_is') as n_as_is,
        sum(attempts) as n_attempts
    from samples
    where split = 'test'
    group by edition_id, method, rephraser, triplet_id
),

by_method as (
    select
        edition_id,
        method,
        rephraser,
        sum(n_samples)::bigint as n_samples,
        sum(n_accepted) / sum(n_samples) as accepted_rate,
        sum(n_fallback) / sum(n_samples) as fallback_rate,
        sum(n_as_is) / sum(n_samples) as as_is_rate,
        sum(n_attempts) / sum(n_samples) as mean_attempts,
        count(*) filter (where n_samples = samples_per_triplet(method)) as n_complete_triplets
    from by_triplet
    group by edition_id, method, rephraser
),

test_triplets as (
    select edition_id, count(*) as n_triplets
    from triplets
    where split = 'test'
    group by edition_id
),

test_variants as (
    select edition_id, variant_id
    from samples
    where split = 'test' and method = 'pretexeval'
),

gates as (
    select
        edition_id,
        coalesce((configuration ->> '$.rephraser.gate') = 'off', false) as is_gate_off,
        (wrong_texts ->> '$.wrong_rate')::double as wrong_rate,
        (wrong_texts ->> '$.low')::double as wrong_rate_ci_low,
        (wrong_texts ->> '$.high')::double as wrong_rate_ci_high,
        (wrong_texts ->> '$.max_new_words')::integer as max_new_words
    from editions
),

tried as (
    select
        attempts.edition_id,
        'pretexeval' as method,
        attempts.rephraser,
        count(*) as n_attempts,
        avg(is_accepted::integer) filter (where not is_gate_off) as acceptance_rate,
        any_value(gates.wrong_rate) as wrong_rate,
        any_value(gates.wrong_rate_ci_low) as wrong_rate_ci_low,
        any_value(gates.wrong_rate_ci_high) as wrong_rate_ci_high,
        any_value(gates.max_new_words) as max_new_words,
        count(is_judged_implied and is_judged_implying) filter (
            where is_judged_implied is not null and is_judged_implying is not null
        ) as n_judged,
        avg((is_judged_implied and is_judged_implying)::integer) filter (
            where is_judged_implied is not null and is_judged_implying is not null
        ) as judge_agreement
    from attempts
    inner join test_variants using (edition_id, variant_id)
    inner join gates using (edition_id)
    group by attempts.edition_id, attempts.rephraser
)

select
    by_method.edition_id,
    by_method.method,
    by_method.rephraser,
    by_method.n_samples,
    by_method.accepted_rate,
    by_method.fallback_rate,
    by_method.as_is_rate,
    by_method.mean_attempts,
    coalesce(tried.n_attempts, 0) as n_attempts,
    tried.acceptance_rate,
    tried.wrong_rate,
    tried.wrong_rate_ci_low,
    tried.wrong_rate_ci_high,
    tried.max_new_words,
    coalesce(tried.n_judged, 0) as n_judged,
    tried.judge_agreement,
    test_triplets.n_triplets,
    test_triplets.n_triplets - by_method.n_complete_triplets as n_incomplete_triplets
from by_method
inner join test_triplets using (edition_id)
left join tried using (edition_id, method, rephraser)
order by by_method.edition_id, by_method.method, by_method.rephraser

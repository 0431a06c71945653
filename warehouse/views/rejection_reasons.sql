-- Grain: one row per edition, rephraser and reason to reject a rewording.
-- Of the n_attempts to reword the edition's test samples, the gate rejected n_rejected for this reason
-- (rejection_rate is their share). An attempt may have several reasons; each counts once. Texts that no gate
-- checked ("gate off") were not rejected.
create or replace view rejection_reasons as
with test_variants as (
    select edition_id, variant_id
    from samples
    where split = 'test' and method = 'pretexeval'
),

tried as (
    select attempts.edition_id, attempts.rephraser, attempts.reasons
    from attempts
    inner join test_variants using (edition_id, variant_id)
),

totals as (
    select edition_id, rephraser, count(*) as n_attempts
    from tried
    group by edition_id, rephraser
),

rejected as (
    select edition_id, rephraser, unnest(list_distinct(reasons)) as reason
    from tried
    where not list_contains(reasons, 'gate off')
)

select
    totals.edition_id,
    totals.rephraser,
    rejected.reason,
    totals.n_attempts,
    count(*) as n_rejected,
    count(*) / totals.n_attempts as rejection_rate
from totals
inner join rejected using (edition_id, rephraser)
group by totals.edition_id, totals.rephraser, rejected.reason, totals.n_attempts
order by totals.edition_id, totals.rephraser, n_rejected desc, rejected.reason

-- Grain: one row per edition, rephraser and reason to reject a rewording.
-- Of the n_attempts to reword the edition's test samples, the gate rejected n_rejected for this reason
-- (rejection_rate is their share). An attempt may have several reasons; each counts once. Texts that no gate
-- checked ("gate off") were not rejected.
create or replace view rejection_reasons as
with tried as (
    select
        edition_id,
        rephraser,
        case when not list_contains(reasons, 'gate off') then list_distinct(reasons) end as reasons,
        count(*) over (partition by edition_id, rephraser) as n_attempts
    from attempts
    semi join (select * from samples where split = 'test' and method = 'pretexeval') using (edition_id, variant_id)
),

rejected as (
    select edition_id, rephraser, n_attempts, unnest(reasons) as reason from tried
)

select edition_id, rephraser, reason, n_attempts, count(*) as n_rejected, count(*) / n_attempts as rejection_rate
from rejected
group by edition_id, rephraser, reason, n_attempts
order by edition_id, rephraser, n_rejected desc, reason

-- Grain: one row per edition, model, method, repeat, origin and compared_with.
-- The answers of a model about facts whose standing has changed between two releases of the base (docs/editions.md).
-- origin: `new` facts, which no older release holds; `removed` ones, which the base no longer lists; `reversed` ones,
-- which the base now asserts to be false. all_affirmed_rate: the share of them that the model affirms in all forms.
-- compared_with: `kept` or `new` facts, weighted as the facts of the origin (storage.compared_changes); or the
-- `false twins` of the same pairs, which tell how often the model affirms what was never listed.
-- n_facts: the facts of the origin that have a counterpart; n_compared: those with which they are compared.
-- difference: its interval adds those of both rates as if they were independent (Newcombe 1998, method 10).
-- A reply without an answer affirms nothing; a fact with a failed prompt is left out. A removed fact is undecided, so no
-- other view counts its pair.
create or replace temp table observations as
with first_policies as (
    select edition_id, model_id, scoring_policies[1] as scoring_policy
    from runs
    where setting is null and period is null and is_evaluated
),

affirmed as (
    select
        edition_id, model_id, samples.method, asked.repeat, samples.triplet_id,
        bool_and(coalesce(((prediction = 'T') = samples.label) = is_positive, false))::integer as is_affirmed
    from (select *, item_id as sample_id from answers where kind = 'samples') as asked
    semi join first_policies using (edition_id, model_id, scoring_policy)
    inner join samples using (edition_id, sample_id)
    inner join (select distinct edition_id, triplet_id, is_positive from storage.compared_changes)
        using (edition_id, triplet_id)
    group by edition_id, model_id, samples.method, asked.repeat, samples.triplet_id
    having count(error) = 0 and min(weight) = 1 and max(weight) = 1
)

select
    {'edition_id': edition_id, 'model_id': model_id, 'method': method, 'repeat': repeat,
     'origin': origin, 'compared_with': compared_with} as key,
    side as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    is_positive::integer * is_affirmed * size as gained,
    is_positive::integer * size as n,
    (not is_positive)::integer * is_affirmed * size as negative_gained,
    (not is_positive)::integer * size as negative_n,
    n_most
from storage.compared_changes
inner join affirmed using (edition_id, triplet_id)
inner join storage.pair_clusters using (edition_id, pair_id);

-- The estimates of these observations are computed here (estimation.py).
create table stale_beliefs as
select
    own.key.edition_id, own.key.model_id, models.name as model, own.key.method, own.key.repeat,
    own.key.origin, own.key.compared_with,
    own.n_pairs as n_facts,
    own.share as all_affirmed_rate, own.ci_low as all_affirmed_rate_ci_low, own.ci_high as all_affirmed_rate_ci_high,
    other.n_pairs as n_compared,
    other.share as compared_rate, other.ci_low as compared_rate_ci_low, other.ci_high as compared_rate_ci_high,
    own.share - other.share as difference,
    difference - sqrt((own.share - own.ci_low) ** 2 + (other.ci_high - other.share) ** 2) as difference_ci_low,
    difference + sqrt((own.ci_high - own.share) ** 2 + (other.share - other.ci_low) ** 2) as difference_ci_high
from estimates as own
inner join estimates as other on own.key = other.key and own.measure = 'own' and other.measure = 'other'
inner join models on own.key.model_id = models.model_id
order by
    own.key.edition_id, models.name, own.key.model_id, own.key.method, own.key.repeat,
    own.key.origin, own.key.compared_with

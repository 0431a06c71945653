-- One row per test pair of the method. shown: what all its samples share, beside its relation and head.
create or replace temp table browsed_candidates as
with taught as (
    select pair_id, to_json(map_from_entries(list((model_id, taught_with) order by model_id))) as taught
    from storage.taught_pairs
    where edition_id = $edition_id and is_as_taught
    group by pair_id
)

select
    triplets.pair_id as group_id,
    any_value(triplets.relation) as relation,
    any_value(triplets.head) as head,
    coalesce(bool_or(triplets.is_asserted), false) as is_asserted,
    any_value(triplets.first_release) filter (where triplets.is_positive) as age,
    any_value(taught.taught) as taught,
    triplets.pair_id in (
        select pair_id from pair_scores where edition_id = $edition_id and method = $method
    ) as is_asked,
    to_json({
        'head_id': any_value(triplets.head_id),
        'true_fact': max({'tail': triplets.tail, 'tail_id': triplets.tail_id, 'triplet_id': triplets.triplet_id})
            filter (where triplets.is_positive),
        'false_fact': max({'tail': triplets.tail, 'tail_id': triplets.tail_id, 'triplet_id': triplets.triplet_id})
            filter (where not triplets.is_positive)
    }) as shown
from triplets
left join taught using (pair_id)
semi join (
    select pair_id from samples where edition_id = $edition_id and method = $method and split = 'test'
) as asked using (pair_id)
where triplets.edition_id = $edition_id and triplets.split = 'test'
group by triplets.pair_id;

-- One row per test sample of the method. form: a number for the transformation and the tail. rank: its place among
-- the samples of its form.
create or replace temp table browsed_candidate_items as
with tried as (
    select
        variant_id,
        list({
            'number': attempt, 'text': text, 'is_accepted': is_accepted, 'reasons': reasons
        } order by attempt) as attempts
    from attempts
    where edition_id = $edition_id and $method = 'pretexeval'
    group by variant_id
)

select
    samples.pair_id as group_id,
    samples.sample_id as item_id,
    samples.sample_index + if(triplets.is_positive, 0, 8) as form,
    samples.sample_id as rank,
    samples.text,
    to_json({
        'id': samples.sample_id, 'text': samples.text, 'label': samples.label, 'status': samples.status,
        'statement': variants.statement, 'attempts': coalesce(tried.attempts, [])
    }) as shown
from samples
inner join triplets using (edition_id, triplet_id)
left join variants using (edition_id, variant_id)
left join tried using (variant_id)
where samples.edition_id = $edition_id and samples.method = $method and samples.split = 'test'

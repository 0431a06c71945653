-- Grain: one row per edition, method and relation (null: all of them).
-- How far the samples are from their statements and from each other, from 0 to 1: means over the n_samples
-- measured, from the n_triplets drawn for it (tasks/quality/diversity.py defines the distances).
-- lexical: changed words; structural: changed parts of speech. _distance: to the statement. _spread: to the
-- other samples of the same triplet and method; null for a method with one sample per triplet.
create or replace view diversity as
select
    edition_id,
    method,
    relation,
    count(*) as n_samples,
    count(distinct triplet_id) as n_triplets,
    avg(lexical_distance) as lexical_distance,
    avg(structural_distance) as structural_distance,
    avg(lexical_spread) as lexical_spread,
    avg(structural_spread) as structural_spread
from sample_diversity
group by grouping sets ((edition_id, method, relation), (edition_id, method))
order by edition_id, method, relation nulls first

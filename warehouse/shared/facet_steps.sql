-- Grain: one row per edition and number of its facets (step).
-- The first facets in the order in which the paper adds them up to mastered points (MultifacetEval, figure 6).
create or replace view storage.facet_steps as
with asked as (
    select distinct edition_id, facet
    from questions
    where split = 'test'
)

select
    edition_id,
    list(facet) over (partition by edition_id order by place_facet(facet)) as facets,
    len(facets) as step,
    step = count(*) over (partition by edition_id) as is_last
from asked

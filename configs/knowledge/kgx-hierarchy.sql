-- The hierarchy of a graph in KGX, such as those of MONDO and HPO in the graph of Monarch: path is that of kgx.sql.
-- HP:0000001 ("All") is left out, so that "Phenotypic abnormality" is a root, which is never asked.
with edge_rows as (
    -- A graph without the column has null there.
    select null as negated
    where false
    union all by name
    select *
    from read_csv(
        $path || '/*edges.tsv*',
        header = true, delim = '\t', quote = '', all_varchar = true, union_by_name = true, null_padding = true
    )
)

select distinct subject as child_id, object as parent_id
from edge_rows
where
    predicate = 'biolink:subclass_of'
    and coalesce(lower(negated), '') != 'true'
    and object != 'HP:0000001'

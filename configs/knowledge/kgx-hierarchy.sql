-- The hierarchy of a graph in KGX, such as those of MONDO and HPO in the graph of Monarch: path is that of kgx.sql.
-- HP:0000001 ("All") is left out, so that "Phenotypic abnormality" is a root, which is never asked.
select distinct subject as child_id, object as parent_id
from read_csv(
    $path || '/*_edges.tsv*', header = true, delim = '\t', quote = '', all_varchar = true, union_by_name = true
)
where
    predicate = 'biolink:subclass_of'
    and coalesce(lower(negated), '') != 'true'
    and object != 'HP:0000001'

-- The hierarchy of the terms of the Human Phenotype Ontology: path is that of hpo.sql.
-- A term that was merged into another one is below it, so that facts of an older release keep their meaning.
-- "All", which is above everything, is left out, so that "Phenotypic abnormality" is a root, which is never asked.
with files as (
    -- hp.obo, or else hp.json: the pattern matches both of them and no hp.owl.
    select content, suffix(filename, '.json') as is_json
    from read_text($path || '/hp.[oj][bs]o*')
    order by filename desc
    limit 1
),

stanzas as (
    select unnest([
        string_split(each, e'\n\n')[1] for each in string_split(content, e'\n[Term]\n')[2:]
    ]) as stanza
    from files
    where not is_json
),

graphs as (
    select unnest(from_json(
        content,
        '{"graphs": [{
            "edges": [{"sub": "varchar", "pred": "varchar", "obj": "varchar"}],
            "nodes": [{"id": "varchar", "meta": {"basicPropertyValues": [{"pred": "varchar", "val": "varchar"}]}}]
        }]}'
    ).graphs) as graph
    from files
    where is_json
),

edges as (
    select unnest(graph.edges) as edge
    from graphs
),

nodes as (
    select node.id as parent_id, unnest(node.meta."basicPropertyValues") as property
    from (select unnest(graph.nodes) as node from graphs)
),

pairs as (
    select
        regexp_extract(stanza, 'id: (\S+)', 1) as child_id,
        unnest(regexp_extract_all(stanza, '(?m)^is_a: (\S+)', 1)) as parent_id
    from stanzas
    union
    select
        unnest(regexp_extract_all(stanza, '(?m)^alt_id: (\S+)', 1)),
        regexp_extract(stanza, 'id: (\S+)', 1)
    from stanzas
    union
    select replace(parse_filename(edge.sub), '_', ':'), replace(parse_filename(edge.obj), '_', ':')
    from edges
    where edge.pred = 'is_a'
    union
    select property.val, replace(parse_filename(parent_id), '_', ':')
    from nodes
    where suffix(property.pred, 'hasAlternativeId')
)

select child_id, parent_id
from pairs
where parent_id != 'HP:0000001'

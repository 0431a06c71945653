-- An ontology in OBO, or in the JSON of obographs: path is the file. With format = "table", such a file is read by this
-- query, and links of terms without a name are left out and listed. If `query` names it, such links are an error.
-- Where: obofoundry.org. Licence: that of the ontology.
--
-- is_a, and every relationship under the name of its property there, of terms that are not obsolete. Choose some with
-- `relations`. Exact synonyms are aliases, unless they name something else as well. Cross references (xref) are ids of
-- other bases, and neither names nor facts.
with files as (
    select
        e'\n' || replace(content, e'\r', '') as content,
        regexp_matches(content, '^\s*\{') as is_json
    from read_text($path)
),

stanzas as (
    select
        regexp_extract(stanza, '^(\w+)', 1) as kind,
        regexp_extract(stanza, '(?m)^id: (\S+)', 1) as id,
        trim(regexp_replace(regexp_extract(stanza, '(?m)^name: (.*)$', 1), ' \{[^}]*\}\s*$| ! .*$', '')) as name,
        regexp_matches(stanza, '(?m)^is_obsolete: true') as is_obsolete,
        regexp_extract_all(stanza, '(?m)^synonym: "((?:[^"\\]|\\.)*)" EXACT', 1) as synonyms,
        regexp_extract_all(stanza, '(?m)^(?:relationship: \S+|is_a:) \S+') as links
    from (select unnest(string_split(content, e'\n[')[2:]) as stanza from files where not is_json)
),

graphs as (
    select unnest(from_json(
        content,
        '{"graphs": [{
            "nodes": [{
                "id": "varchar", "lbl": "varchar", "type": "varchar",
                "meta": {"deprecated": "boolean", "synonyms": [{"pred": "varchar", "val": "varchar"}]}
            }],
            "edges": [{"sub": "varchar", "pred": "varchar", "obj": "varchar"}]
        }]}'
    ).graphs) as graph
    from files
    where is_json
),

nodes as (
    select unnest(graph.nodes) as node
    from graphs
),

-- Properties name the relations; all others are terms.
items as (
    select id, replace(name, '\', '') as name, kind = 'Typedef' as is_property, synonyms
    from stanzas
    where kind in ('Term', 'Typedef') and not is_obsolete
    union all
    select
        node.id,
        trim(node.lbl),
        coalesce(node.type, '') = 'PROPERTY',
        [each.val for each in coalesce(node.meta.synonyms, []) if each.pred = 'hasExactSynonym']
    from nodes
    where not coalesce(node.meta.deprecated, false)
),

links as (
    select
        id as head_id,
        rtrim(regexp_extract(link, '(?:relationship: )?(\S+)', 1), ':') as property,
        regexp_extract(link, '\S+$') as tail_id
    from (select id, unnest(links) as link from stanzas where kind = 'Term')
    union all
    select edge.sub, edge.pred, edge.obj
    from (select unnest(graph.edges) as edge from graphs)
),

terms as (
    select
        id,
        min(name) as name,
        flatten(list(synonyms)) as synonyms
    from items
    where not is_property and name != ''
    group by id
),

properties as (
    select id, min(name) as name
    from items
    where is_property and name != ''
    group by id
),

-- Ends of links that are no terms. An end that the file does not describe is not among them.
others as (
    select id
    from stanzas
    where kind != 'Term' or is_obsolete
    union all
    select node.id
    from nodes
    where node.type = 'PROPERTY' or node.meta.deprecated
),

names as (
    select id, name as spelling, false as is_synonym
    from terms
    union all
    select id, regexp_replace(unnest(synonyms), '\\(.)', '\1', 'g'), true
    from terms
),

folded as (
    select *, trim(regexp_replace(lower(spelling), '[^\p{L}\p{N}]+', ' ', 'g')) as key
    from names
),

aliases as (
    select id, list(distinct spelling order by spelling) as aliases
    from folded
    where is_synonym and key in (select key from folded group by key having count(distinct id) = 1)
    group by id
)

select distinct
    head.name as head,
    -- Without a name, the last part of an id: "http://example.org/x#part_of".
    trim(regexp_replace(
        coalesce(properties.name, regexp_extract(links.property, '[^/#]+$')), '[^A-Za-z0-9-]+', '_', 'g'
    ), '_-') as relation,
    tail.name as tail,
    regexp_replace(links.head_id, '^.*/([A-Za-z]+)_(\w+)$', '\1:\2') as head_id,
    regexp_replace(links.tail_id, '^.*/([A-Za-z]+)_(\w+)$', '\1:\2') as tail_id,
    head_names.aliases as head_aliases,
    tail_names.aliases as tail_aliases
from links
left join terms as head on links.head_id = head.id
left join terms as tail on links.tail_id = tail.id
left join properties on links.property = properties.id
left join aliases as head_names on links.head_id = head_names.id
left join aliases as tail_names on links.tail_id = tail_names.id
where
    (head.id is not null or links.head_id not in (from others where id is not null))
    and (tail.id is not null or links.tail_id not in (from others where id is not null))

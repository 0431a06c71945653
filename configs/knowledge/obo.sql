-- An ontology in OBO: path is the file.
-- Where: obofoundry.org. Licence: that of the ontology.
--
-- is_a, and every relationship under its name there, of terms that are not obsolete. Choose some with `relations`.
-- Exact synonyms are aliases, unless they name something else as well.
with files as (
    select replace(content, e'\r', '') as content
    from read_text($path)
),

stanzas as (
    select unnest([
        string_split(each, e'\n\n')[1] for each in string_split(content, e'\n[Term]\n')[2:]
    ]) as stanza
    from files
),

terms as (
    select
        regexp_extract(stanza, '(?m)^id: (\S+)', 1) as id,
        regexp_extract(stanza, '(?m)^name: (.*)$', 1) as name,
        [
            regexp_replace(each, '\\(.)', '\1', 'g')
            for each in regexp_extract_all(stanza, '(?m)^synonym: "((?:[^"\\]|\\.)*)" EXACT', 1)
        ] as synonyms,
        regexp_extract_all(stanza, '(?m)^(?:relationship: \S+|is_a:) \S+') as links
    from stanzas
    where not contains(stanza, 'is_obsolete: true') and contains(stanza, e'\nname: ')
),

names as (
    select id, name as spelling, false as is_synonym
    from terms
    union all
    select id, unnest(synonyms), true
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
),

edges as (
    select
        id as head_id,
        replace(rtrim(regexp_extract(link, '(?:relationship: )?(\S+)', 1), ':'), ':', '_') as relation,
        regexp_extract(link, '\S+$') as tail_id
    from (select id, unnest(links) as link from terms)
)

select distinct
    head.name as head,
    edges.relation,
    tail.name as tail,
    edges.head_id,
    edges.tail_id,
    head_names.aliases as head_aliases,
    tail_names.aliases as tail_aliases
from edges
inner join terms as head on edges.head_id = head.id
inner join terms as tail on edges.tail_id = tail.id
left join aliases as head_names on edges.head_id = head_names.id
left join aliases as tail_names on edges.tail_id = tail_names.id

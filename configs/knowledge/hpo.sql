-- Human Phenotype Ontology (Gargano et al. 2024): path is the folder of phenotype.hpoa and hp.obo, or hp.json, of one
-- release. Releases since 2021 were tried.
-- Where: hpo.jax.org, or the releases of github.com/obophenotype/human-phenotype-ontology.
-- Licence: that of the ontology (free use with attribution, version shown, content not changed).
--
-- disease_may_have_finding: phenotypic abnormalities (aspect P). disease_has_mode_of_inheritance: aspect I, but for
-- terms that only qualify an inheritance ("Genetic anticipation"). hpo-hierarchy.sql is the hierarchy of the terms.
-- A finding is true if one row observes it in at least 5 % of the patients, or without a frequency. It is undecided if
-- the rows know only rarer ones, or none among the patients of a study, or if it belongs to the history of a patient
-- (aspect H: "Maternal diabetes"). It is false if all rows exclude it.
-- Names with a comma are in quotation marks, as they are published: "Atrial fibrillation, familial, 5". To turn them
-- round by rule would change the content, and some of them wrongly ("Dystonia 7, torsion").
-- The exact synonyms of a term are its aliases, unless they name another term or a disease as well.
with rows as (
    select
        database_id,
        disease_name,
        hpo_id,
        if(aspect = 'I', 'disease_has_mode_of_inheritance', 'disease_may_have_finding') as relation,
        -- Frequencies are "3/64", "4.7%", or terms, of which HP:0040284 is very rare (1 to 4 %).
        case
            when frequency = 'HP:0040284' then 0.04
            when suffix(frequency, '%') then try_cast(rtrim(frequency, '%') as double) / 100
            else try_cast(split_part(frequency, '/', 1) as int)
                / greatest(try_cast(split_part(frequency, '/', 2) as int), 1)
        end as share,
        case
            -- "Down syndrometrisomy 21, included": two titles in one.
            when disease_name ilike '%, included' then 'undecided'
            when aspect = 'H' then 'undecided'
            when qualifier = 'NOT' or frequency = 'HP:0040285' then 'false'
            when share < 0.05 then 'undecided'
            else 'true'
        end as state
    from read_csv(
        $path || '/phenotype.hpoa*',
        header = false,
        auto_detect = false,
        delim = '\t',
        quote = '',
        escape = '',
        null_padding = true,
        columns = {
            database_id: 'varchar', disease_name: 'varchar', qualifier: 'varchar', hpo_id: 'varchar',
            reference: 'varchar', evidence: 'varchar', onset: 'varchar', frequency: 'varchar', sex: 'varchar',
            modifier: 'varchar', aspect: 'varchar', biocuration: 'varchar'
        }
    )
    -- Comments have one column, and the header has no aspect of this name.
    where aspect in ('P', 'I', 'H')
),

annotations as (
    select
        database_id,
        disease_name,
        hpo_id,
        relation,
        bool_and(state = 'false') as also_false,
        bool_or(state = 'undecided') and not bool_or(state = 'true') as undecided
    from rows
    group by all
),

files as (
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

nodes as (
    select unnest(flatten([graph.nodes for graph in from_json(
        content,
        '{"graphs": [{"nodes": [{"id": "varchar", "lbl": "varchar", "meta": {
            "deprecated": "boolean", "synonyms": [{"pred": "varchar", "val": "varchar"}]
        }}]}]}'
    ).graphs])) as node
    from files
    where is_json
),

terms as (
    select
        regexp_extract(stanza, 'id: (\S+)', 1) as hpo_id,
        regexp_extract(stanza, '(?m)^name: (.*)$', 1) as name,
        [
            regexp_replace(each, '\\(.)', '\1', 'g')
            for each in regexp_extract_all(stanza, '(?m)^synonym: "((?:[^"\\]|\\.)*)" EXACT', 1)
        ] as synonyms
    from stanzas
    where not contains(stanza, 'is_obsolete: true')
    union
    select
        -- http://purl.obolibrary.org/obo/HP_0000118
        replace(parse_filename(node.id), '_', ':'),
        node.lbl,
        [each.val for each in node.meta.synonyms if each.pred = 'hasExactSynonym']
    from nodes
    where node.lbl is not null and not coalesce(node.meta.deprecated, false)
),

names as (
    select hpo_id, name as spelling, false as is_synonym
    from terms
    union all
    select hpo_id, unnest(synonyms), true
    from terms
    union all
    select distinct database_id, disease_name, false
    from annotations
),

folded as (
    select *, trim(regexp_replace(lower(spelling), '[^\p{L}\p{N}]+', ' ', 'g')) as key
    from names
),

aliases as (
    select hpo_id, list(distinct spelling order by spelling) as aliases
    from folded
    where
        is_synonym
        and key in (select key from folded group by key having count(distinct hpo_id) = 1)
    group by hpo_id
)

select
    if(contains(disease_name, ', '), '"' || disease_name || '"', disease_name) as head,
    relation,
    if(contains(name, ', '), '"' || name || '"', name) as tail,
    database_id as head_id,
    hpo_id as tail_id,
    aliases as tail_aliases,
    also_false,
    undecided
from annotations
inner join terms using (hpo_id)
left join aliases using (hpo_id)
where relation = 'disease_may_have_finding' or name ilike '%inheritance%'

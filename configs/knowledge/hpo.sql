-- Human Phenotype Ontology (Gargano et al. 2024): path is the folder of phenotype.hpoa and hp.json of one release.
-- Where: hpo.jax.org, or the releases of github.com/obophenotype/human-phenotype-ontology.
-- Licence: that of the ontology (free use with attribution, version shown, content not changed).
--
-- disease_may_have_finding: phenotypic abnormalities (aspect P). disease_has_mode_of_inheritance: aspect I, but for
-- terms that only qualify an inheritance ("Genetic anticipation"). Rows with the qualifier NOT are false.
-- The exact synonyms of a term are its aliases, unless they name another term as well.
with annotations as (
    select *
    from read_csv(
        $path || '/phenotype.hpoa*', header = true, delim = '\t', quote = '', comment = '#', all_varchar = true
    )
),

graphs as (
    select unnest(graphs) as graph
    from read_json(
        $path || '/hp.json*',
        maximum_object_size = 1000000000,
        columns = {
            graphs: 'struct(nodes struct(
                id varchar, lbl varchar, meta struct(synonyms struct(pred varchar, val varchar)[])
            )[])[]'
        }
    )
),

nodes as (
    select unnest(graph.nodes) as node
    from graphs
),

terms as (
    select
        -- http://purl.obolibrary.org/obo/HP_0000118
        replace(parse_filename(node.id), '_', ':') as hpo_id,
        node.lbl as name,
        [each.val for each in node.meta.synonyms if each.pred = 'hasExactSynonym'] as synonyms
    from nodes
    where node.lbl is not null
),

names as (
    select hpo_id, name as spelling, false as is_synonym
    from terms
    union all
    select hpo_id, unnest(synonyms), true
    from terms
),

spellings as (
    select trim(regexp_replace(lower(spelling), '[^\p{L}\p{N}]+', ' ', 'g')) as folded
    from names
    group by folded
    having count(distinct hpo_id) = 1
),

aliases as (
    select names.hpo_id, list(distinct names.spelling order by names.spelling) as aliases
    from names
    inner join spellings
        on trim(regexp_replace(lower(names.spelling), '[^\p{L}\p{N}]+', ' ', 'g')) = spellings.folded
    where names.is_synonym
    group by names.hpo_id
)

select distinct
    annotations.disease_name as head,
    if(annotations.aspect = 'P', 'disease_may_have_finding', 'disease_has_mode_of_inheritance') as relation,
    terms.name as tail,
    annotations.database_id as head_id,
    annotations.hpo_id as tail_id,
    aliases.aliases as tail_aliases,
    coalesce(annotations.qualifier, '') = 'NOT' as also_false
from annotations
inner join terms using (hpo_id)
left join aliases using (hpo_id)
where
    (annotations.aspect = 'P' or (annotations.aspect = 'I' and terms.name ilike '%inheritance%'))
    -- What one publication observes and another one excludes is true.
    and (
        coalesce(annotations.qualifier, '') != 'NOT'
        or (annotations.database_id, annotations.hpo_id) not in (
            select (observed.database_id, observed.hpo_id)
            from annotations as observed
            where coalesce(observed.qualifier, '') != 'NOT'
        )
    )

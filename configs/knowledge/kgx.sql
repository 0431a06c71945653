-- A graph in the TSV of KGX, as the Monarch Initiative publishes its own: path is the folder of *nodes.tsv and
-- *edges.tsv (also .gz). Nodes need id, category and name, edges need subject, predicate and object; synonym and
-- negated are optional.
-- Where: data.monarchinitiative.org. Licence: that of each source, which the edges name
-- (primary_knowledge_source).
--
-- may_treat (treats, treats_or_applied_or_studied_to_treat; contraindications are false),
-- disease_may_have_finding (has_phenotype), disease_mapped_to_gene (from causes, contributes_to and
-- gene_associated_with_condition of genes, which are named "ABCG2 gene"). Edges with negated = true are false.
-- Synonyms are aliases, unless they name something else as well. A node can have several categories.
with node_rows as (
    -- A graph without the column has null there, and so have rows that end before their last columns.
    select null as synonym
    where false
    union all by name
    select *
    from read_csv(
        $path || '/*nodes.tsv*',
        header = true, delim = '\t', quote = '', all_varchar = true, union_by_name = true, null_padding = true
    )
),

edge_rows as (
    select null as negated
    where false
    union all by name
    select *
    from read_csv(
        $path || '/*edges.tsv*',
        header = true, delim = '\t', quote = '', all_varchar = true, union_by_name = true, null_padding = true
    )
),

published as (
    select
        id,
        name,
        string_split(category, '|') as categories,
        string_split(synonym, '|') as synonyms
    from node_rows
    where name is not null
),

names as (
    select id, name as spelling, false as is_synonym
    from published
    union all
    select id, unnest(synonyms), true
    from published
),

spellings as (
    select trim(regexp_replace(lower(spelling), '[^\p{L}\p{N}]+', ' ', 'g')) as folded
    from names
    group by folded
    having count(distinct id) = 1
),

aliases as (
    select names.id, list(distinct names.spelling order by names.spelling) as aliases
    from names
    inner join spellings
        on trim(regexp_replace(lower(names.spelling), '[^\p{L}\p{N}]+', ' ', 'g')) = spellings.folded
    where names.is_synonym
    group by names.id
),

nodes as (
    select published.id, published.name, published.categories, aliases.aliases
    from published
    left join aliases using (id)
),

edges as (
    select
        subject,
        predicate,
        object,
        coalesce(lower(negated) = 'true', false) as is_negated
    from edge_rows
),

worded as (
    select *
    from (
        values
        ('biolink:treats', 'biolink:Disease', 'may_treat', false, false),
        ('biolink:treats_or_applied_or_studied_to_treat', 'biolink:Disease', 'may_treat', false, false),
        ('biolink:contraindicated_in', 'biolink:Disease', 'may_treat', false, true),
        ('biolink:has_phenotype', 'biolink:PhenotypicFeature', 'disease_may_have_finding', false, false),
        ('biolink:causes', 'biolink:Disease', 'disease_mapped_to_gene', true, false),
        ('biolink:contributes_to', 'biolink:Disease', 'disease_mapped_to_gene', true, false),
        ('biolink:gene_associated_with_condition', 'biolink:Disease', 'disease_mapped_to_gene', true, false)
    ) as _ (predicate, category, relation, is_turned, is_false)
),

rows as (
    select
        worded.relation,
        worded.is_false or edges.is_negated as also_false,
        if(worded.is_turned, target, source) as head_node,
        if(worded.is_turned, source, target) as tail_node
    from edges
    inner join worded using (predicate)
    inner join nodes as source on edges.subject = source.id
    inner join nodes as target on edges.object = target.id and worded.category in target.categories
    where
        (worded.relation != 'disease_may_have_finding' or 'biolink:Disease' in source.categories)
        and (not worded.is_turned or 'biolink:Gene' in source.categories)
)

select distinct
    head_node.name as head,
    relation,
    tail_node.name || if(relation = 'disease_mapped_to_gene', ' gene', '') as tail,
    head_node.id as head_id,
    tail_node.id as tail_id,
    head_node.aliases as head_aliases,
    tail_node.aliases as tail_aliases,
    also_false
from rows
where
    not also_false
    or (head_node.id, relation, tail_node.id) not in (
        select (stated.head_node.id, stated.relation, stated.tail_node.id)
        from rows as stated
        where not stated.also_false
    )

-- PrimeKG (Chandak et al. 2023): path is the file kg.csv, or kg.csv.gz.
-- Where: Harvard Dataverse, doi:10.7910/DVN/IXA7BM. Licence: CC0 1.0 (version 2.1); some of its sources (DrugBank,
-- DrugCentral, …) have terms of their own.
--
-- may_treat: indications. Off-label uses are true as well, but not tested; contraindications are false.
-- may_cause_side_effect: the side effects of SIDER. contraindicated_in: contraindications as facts.
-- disease_may_have_finding: phenotypes of HPO; phenotypes that are said to be absent are false.
-- has_target: targets. Enzymes, transporters and carriers may be bound as well, so they are not tested.
-- gene_expressed_in_anatomy: absent expression is false.
-- disease_mapped_to_gene, gene_participates_in_pathway, gene_plays_role_in_biological_process.
-- Genes are named "ABCG2 gene", but for the targets of drugs. Interactions of drugs are left out, because PrimeKG
-- does not say which of them are significant.
--
-- Every edge is there in both directions, so the type of x chooses one of them.
with edges as (
    select *
    from read_csv($path, header = true, delim = ',', quote = '"', escape = '"', all_varchar = true)
),

worded as (
    select *
    from (
        values
        ('indication', 'drug', 'may_treat', null, false, false),
        ('off-label use', 'drug', 'may_treat', null, true, false),
        ('contraindication', 'drug', 'may_treat', null, false, true),
        ('contraindication', 'drug', 'contraindicated_in', null, false, false),
        ('drug_effect', 'drug', 'may_cause_side_effect', null, false, false),
        ('drug_protein', 'drug', 'has_target', null, false, false),
        ('disease_phenotype_positive', 'disease', 'disease_may_have_finding', null, false, false),
        ('disease_phenotype_negative', 'disease', 'disease_may_have_finding', null, false, true),
        ('disease_protein', 'disease', 'disease_mapped_to_gene', 'tail', false, false),
        ('anatomy_protein_present', 'gene/protein', 'gene_expressed_in_anatomy', 'head', false, false),
        ('anatomy_protein_absent', 'gene/protein', 'gene_expressed_in_anatomy', 'head', false, true),
        ('pathway_protein', 'gene/protein', 'gene_participates_in_pathway', 'head', false, false),
        ('bioprocess_protein', 'gene/protein', 'gene_plays_role_in_biological_process', 'head', false, false)
    ) as _ (published, x_type, relation, gene, also_true, also_false)
),

rows as (
    select
        edges.x_name || if(worded.gene = 'head', ' gene', '') as head,
        worded.relation,
        edges.y_name || if(worded.gene = 'tail', ' gene', '') as tail,
        edges.x_source || ':' || edges.x_id as head_id,
        edges.y_source || ':' || edges.y_id as tail_id,
        worded.also_true or (
            worded.relation = 'has_target' and edges.display_relation != 'target'
        ) as also_true,
        worded.also_false
    from edges
    inner join worded on edges.relation = worded.published and edges.x_type = worded.x_type
)

-- Some drugs are indicated and contraindicated for the same disease, in different patients. Such a pair is true.
select *
from rows
where
    not also_false
    or (head_id, relation, tail_id) not in (select (head_id, relation, tail_id) from rows where not also_false)

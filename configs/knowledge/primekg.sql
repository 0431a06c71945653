-- PrimeKG (Chandak et al. 2023): path is the file kg.csv, or kg.csv.gz.
-- Where: Harvard Dataverse, doi:10.7910/DVN/IXA7BM. Licence: CC0 1.0 (version 2.1); some of its sources (DrugBank,
-- DrugCentral, …) have terms of their own.
--
-- may_treat: indications. Off-label uses are true as well, but not tested; contraindications are false.
-- may_cause_side_effect: the side effects of SIDER. contraindicated_in: contraindications as facts.
-- disease_may_have_finding: phenotypes of HPO; phenotypes that are said to be absent are false.
-- disease_mapped_to_gene, has_target (drug and protein).
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
        ('indication', 'drug', 'may_treat', false, false),
        ('off-label use', 'drug', 'may_treat', true, false),
        ('contraindication', 'drug', 'may_treat', false, true),
        ('contraindication', 'drug', 'contraindicated_in', false, false),
        ('drug_effect', 'drug', 'may_cause_side_effect', false, false),
        ('drug_protein', 'drug', 'has_target', false, false),
        ('disease_phenotype_positive', 'disease', 'disease_may_have_finding', false, false),
        ('disease_phenotype_negative', 'disease', 'disease_may_have_finding', false, true),
        ('disease_protein', 'disease', 'disease_mapped_to_gene', false, false)
    ) as _ (published, x_type, relation, also_true, also_false)
),

rows as (
    select
        edges.x_name as head,
        worded.relation,
        edges.y_name as tail,
        edges.x_source || ':' || edges.x_id as head_id,
        edges.y_source || ':' || edges.y_id as tail_id,
        worded.also_true,
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

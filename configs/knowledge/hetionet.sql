-- Hetionet v1.0 (Himmelstein et al. 2017): path is the folder of hetionet-v1.0-nodes.tsv and
-- hetionet-v1.0-edges.sif.gz.
-- Where: github.com/hetio/hetionet, folder hetnet/tsv. Licence: CC0 1.0, except what its sources restrict; each
-- edge of the JSON version names its licence.
--
-- may_treat: "treats". "palliates" is true as well, but not tested.
-- may_cause_side_effect, disease_may_have_finding (symptoms), disease_has_associated_anatomic_site,
-- disease_mapped_to_gene, has_target (binds), has_pharmacologic_class, gene_plays_role_in_biological_process,
-- gene_participates_in_pathway, gene_expressed_in_anatomy.
-- Genes are named "ABCG2 gene", but for the targets of drugs.
with nodes as (
    select id, name
    from read_csv($path || '/hetionet-v1.0-nodes.tsv*', header = true, delim = '\t', quote = '', all_varchar = true)
),

edges as (
    select *
    from read_csv(
        $path || '/hetionet-v1.0-edges.sif*', header = true, delim = '\t', quote = '', all_varchar = true
    )
),

worded as (
    select *
    from (
        values
        ('CtD', 'may_treat', null, false, false),
        ('CpD', 'may_treat', null, true, false),
        ('CcSE', 'may_cause_side_effect', null, false, false),
        ('CbG', 'has_target', null, false, false),
        ('PCiC', 'has_pharmacologic_class', null, false, true),
        ('DpS', 'disease_may_have_finding', null, false, false),
        ('DlA', 'disease_has_associated_anatomic_site', null, false, false),
        ('DaG', 'disease_mapped_to_gene', 'tail', false, false),
        ('GpBP', 'gene_plays_role_in_biological_process', 'head', false, false),
        ('GpPW', 'gene_participates_in_pathway', 'head', false, false),
        ('AeG', 'gene_expressed_in_anatomy', 'head', false, true)
    ) as _ (metaedge, relation, gene, also_true, is_turned)
)

select
    if(worded.is_turned, target.name, source.name) || if(worded.gene = 'head', ' gene', '') as head,
    worded.relation,
    if(worded.is_turned, source.name, target.name) || if(worded.gene = 'tail', ' gene', '') as tail,
    if(worded.is_turned, target.id, source.id) as head_id,
    if(worded.is_turned, source.id, target.id) as tail_id,
    worded.also_true
from edges
inner join worded using (metaedge)
inner join nodes as source on edges.source = source.id
inner join nodes as target on edges.target = target.id

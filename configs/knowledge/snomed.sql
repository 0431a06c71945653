-- SNOMED CT in RF2: path is the folder Snapshot of a release, with its folders Terminology and Refset/Language.
-- Where: mlds.ihtsdotools.org or the national release centre. Licence: that of SNOMED International, free of
-- charge in member countries.
--
-- disease_has_associated_anatomic_site (finding site), has_causative_agent, has_associated_morphology, due_to,
-- has_active_ingredient. Names are the preferred terms of US English; other synonyms are aliases, unless they
-- name another concept as well.
with relationships as (
    select distinct "sourceId" as source_id, "destinationId" as destination_id, "typeId" as type_id
    from read_csv(
        $path || '/Terminology/sct2_Relationship_Snapshot_*.txt*',
        header = true, delim = '\t', quote = '', all_varchar = true
    )
    where active = '1'
),

descriptions as (
    select
        id,
        "conceptId" as concept_id,
        term,
        trim(regexp_replace(lower(term), '[^\p{L}\p{N}]+', ' ', 'g')) as spelling
    from read_csv(
        $path || '/Terminology/sct2_Description_Snapshot-en_*.txt*',
        header = true, delim = '\t', quote = '', all_varchar = true
    )
    -- 900000000000013009: synonym, in contrast to the fully specified name.
    where active = '1' and "typeId" = '900000000000013009'
),

preferred as (
    select "referencedComponentId" as id
    from read_csv(
        $path || '/Refset/Language/der2_cRefset_LanguageSnapshot-en_*.txt*',
        header = true, delim = '\t', quote = '', all_varchar = true
    )
    -- US English, preferred.
    where
        active = '1'
        and "refsetId" = '900000000000509007'
        and "acceptabilityId" = '900000000000548007'
),

spellings as (
    select spelling
    from descriptions
    group by spelling
    having count(distinct concept_id) = 1
),

concepts as (
    select
        concept_id,
        min(term) filter (id in (select id from preferred)) as name,
        list(distinct term order by term) filter (
            id not in (select id from preferred) and spelling in (select spelling from spellings)
        ) as aliases
    from descriptions
    group by concept_id
),

worded as (
    select *
    from (
        values
        ('363698007', 'disease_has_associated_anatomic_site'),
        ('246075003', 'has_causative_agent'),
        ('116676008', 'has_associated_morphology'),
        ('42752001', 'due_to'),
        ('127489000', 'has_active_ingredient')
    ) as _ (type_id, relation)
)

select
    head.name as head,
    worded.relation,
    tail.name as tail,
    head.concept_id as head_id,
    tail.concept_id as tail_id,
    head.aliases as head_aliases,
    tail.aliases as tail_aliases
from relationships
inner join worded using (type_id)
inner join concepts as head on relationships.source_id = head.concept_id
inner join concepts as tail on relationships.destination_id = tail.concept_id
where head.name is not null and tail.name is not null

-- The hierarchy of SNOMED CT: path is that of snomed.sql.
-- The root concept is left out, so that "Clinical finding" and the like are roots, which are never asked.
select distinct "sourceId" as child_id, "destinationId" as parent_id
from read_csv(
    $path || '/Terminology/sct2_Relationship_Snapshot_*.txt*',
    header = true, delim = '\t', quote = '', all_varchar = true
)
-- 116680003: is a. 138875005: SNOMED CT concept.
where active = '1' and "typeId" = '116680003' and "destinationId" != '138875005'

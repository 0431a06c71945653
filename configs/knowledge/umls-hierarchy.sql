-- The hierarchy of UMLS concepts: path is that of umls.sql, with MRREL.RRF (also .gz).
-- Parents of all sources, where the relation is "is a" or is not named. REL says what the second concept is to the
-- first one, so the second one is the parent. Sources contradict each other: with conflicts = "leave_out" of
-- [knowledge], circles are left out.
select distinct cui1 as child_id, cui2 as parent_id
from read_csv(
    $path || '/MRREL.RRF*',
    header = false,
    auto_detect = false,
    delim = '|',
    quote = '',
    escape = '',
    columns = {
        cui1: 'varchar', aui1: 'varchar', stype1: 'varchar', rel: 'varchar', cui2: 'varchar',
        aui2: 'varchar', stype2: 'varchar', rela: 'varchar', rui: 'varchar', srui: 'varchar',
        sab: 'varchar', sl: 'varchar', rg: 'varchar', dir: 'varchar', suppress: 'varchar',
        cvf: 'varchar', line_end: 'varchar'
    }
)
where rel = 'PAR' and coalesce(rela, 'inverse_isa') = 'inverse_isa' and suppress = 'N' and cui1 != cui2

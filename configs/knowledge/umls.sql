-- UMLS Metathesaurus: path is the folder META of a release, with MRREL.RRF and MRCONSO.RRF (also .gz).
-- Where: www.nlm.nih.gov/research/umls. Licence: a free licence of the National Library of Medicine. The sources
-- have restrictions of their own: read them before you publish an edition.
--
-- Relations have the names of RELA, as in MedLAMA; choose some of them with `relations`.
-- RELA says what the second concept is to the first one, so the second one is the head.
-- Preferred names are those of UMLS. The other English names of a concept are its aliases, unless they name
-- another concept as well.
with relationships as (
    select distinct cui1, cui2, rela
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
    where rela is not null and suppress = 'N' and cui1 != cui2
),

names as (
    select
        cui,
        str,
        ts = 'P' and stt = 'PF' and ispref = 'Y' as is_preferred,
        trim(regexp_replace(lower(str), '[^\p{L}\p{N}]+', ' ', 'g')) as spelling
    from read_csv(
        $path || '/MRCONSO.RRF*',
        header = false,
        auto_detect = false,
        delim = '|',
        quote = '',
        escape = '',
        columns = {
            cui: 'varchar', lat: 'varchar', ts: 'varchar', lui: 'varchar', stt: 'varchar', sui: 'varchar',
            ispref: 'varchar', aui: 'varchar', saui: 'varchar', scui: 'varchar', sdui: 'varchar',
            sab: 'varchar', tty: 'varchar', code: 'varchar', str: 'varchar', srl: 'varchar',
            suppress: 'varchar', cvf: 'varchar', line_end: 'varchar'
        }
    )
    where lat = 'ENG' and suppress = 'N'
),

spellings as (
    select spelling
    from names
    group by spelling
    having min(cui) = max(cui)
),

concepts as (
    select
        cui,
        min(str) filter (is_preferred) as name,
        list(distinct str order by str) filter (
            not is_preferred and spelling in (select spelling from spellings)
        ) as aliases
    from names
    where cui in (select cui1 from relationships union all select cui2 from relationships)
    group by cui
)

select
    head.name as head,
    relationships.rela as relation,
    tail.name as tail,
    head.cui as head_id,
    tail.cui as tail_id,
    head.aliases as head_aliases,
    tail.aliases as tail_aliases
from relationships
inner join concepts as head on relationships.cui2 = head.cui
inner join concepts as tail on relationships.cui1 = tail.cui
where head.name is not null and tail.name is not null

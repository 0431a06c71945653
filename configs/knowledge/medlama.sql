-- MedLAMA (Meng et al., ACL 2022): path is the folder data/medlama/2021AA as published, with a file <relation>_1000.csv
-- for each relation, or one Parquet file with the same rows and their names and ids as lists. The files
-- <relation>_<n>_hard.csv repeat some of the rows.
-- Where: github.com/cambridgeltl/medlama. Licence: that of UMLS, from which the facts are.
--
-- As in the papers, without gene_associated_with_disease and gene_product_encoded_by_gene, which are the inverses of two
-- other relations.
-- Names are published as titles ("Kidney Failure"). A word loses its capital if another name has it in small letters. A
-- name stays as it is if a word behind its first title word is known with a capital only ("Kidney Wilms Tumor").
with listed as (
    from query(
        case
            when ends_with($path, '.parquet')
                then 'select head_name, relation as rel, tail_names, head_cui, tail_cuis from read_parquet($$'
                    || $path || '$$)'
            else 'select head_name, rel, string_split(tail_names, $$||$$) as tail_names, head_cui, '
                || 'string_split(tail_cuis, $$||$$) as tail_cuis from read_csv($$' || $path || '/*_[0-9]*.csv$$, '
                || 'header = true, delim = $$,$$, quote = $$"$$, escape = $$"$$, all_varchar = true, '
                || 'union_by_name = true)'
        end
    )
),

published as (
    select distinct
        head_name,
        rel as relation,
        trim(unnest(tail_names)) as tail_name,
        head_cui as head_id,
        trim(unnest(tail_cuis)) as tail_id
    from listed
),

names as (
    select head_name as name
    from published
    union
    select tail_name
    from published
),

-- The words of a name, and what stands between them.
tokens as (
    select
        name,
        unnest(parts) as token,
        generate_subscripts(parts, 1) as place,
        regexp_full_match(token, '\p{Lu}\p{Ll}+') as is_title
    from (
        select name, regexp_extract_all(name, '[\p{L}\p{N}]+|[^\p{L}\p{N}]+') as parts
        from names
    )
),

small_words as (
    select distinct token as word
    from tokens
    where regexp_full_match(token, '\p{L}{2,}') and token = lower(token)
),

written as (
    select
        tokens.name,
        string_agg(
            if(tokens.is_title and small_words.word is not null, lower(tokens.token), tokens.token), ''
            order by tokens.place
        ) as lowered,
        min(tokens.place) filter (tokens.is_title) as first_title,
        max(tokens.place) filter (tokens.is_title and small_words.word is null) as last_kept,
        if(coalesce(last_kept > first_title, false), tokens.name, lowered) as spelling
    from tokens
    left join small_words on lower(tokens.token) = small_words.word
    group by tokens.name
)

select
    heads.spelling as head,
    published.relation,
    tails.spelling as tail,
    published.head_id,
    published.tail_id
from published
inner join written as heads on published.head_name = heads.name
inner join written as tails on published.tail_name = tails.name
where published.relation not in ('gene_associated_with_disease', 'gene_product_encoded_by_gene')

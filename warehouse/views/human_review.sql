-- Grain: one row per edition and method (null: all of them) that graders reviewed.
-- The grades that people gave the samples, 0 to 5 (PretexEval, appendix H): means of reliability, lexical and
-- structural diversity over the n_grades graded rows by n_graders, on n_triplets.
-- _agreement: Krippendorff's α between graders with the interval metric (Krippendorff 2011, "Computing
-- Krippendorff's alpha-reliability"), for any number of graders and with missing grades: 1 − D_o / D_e.
-- A triplet with m ≥ 2 grades adds Σ (v − v')² / (m − 1) over its ordered pairs to the sum in D_o = 1/n Σ.
-- All n such grades give D_e = Σ (v − v')² / (n (n − 1)); and Σ (v − v')² = 2 (m Σv² − (Σv)²). 1 is perfect
-- agreement, 0 is chance. Null if nothing was graded twice, or if all grades are the same.
create or replace view human_review as
with grades as (
    unpivot (
        select
            edition_id,
            method,
            triplet_id,
            grader,
            reliability,
            lexical_diversity,
            structural_diversity
        from human_grades
    )
    on reliability, lexical_diversity, structural_diversity
    into name criterion value grade
),

units as (
    select
        edition_id,
        method,
        criterion,
        triplet_id,
        count(*) as m,
        sum(grade)::bigint as total,
        sum(grade::integer * grade)::bigint as total_squared
    from grades
    group by edition_id, method, criterion, triplet_id
),

sums as (
    select
        edition_id,
        method,
        criterion,
        sum(total) / sum(m) as mean_grade,
        sum(m) filter (where m > 1) as n,
        sum(2 * (m * total_squared - total * total) / (m - 1)) filter (where m > 1) / n as observed,
        2 * (n * sum(total_squared) filter (where m > 1) - (sum(total) filter (where m > 1)) ** 2)
        / (n * (n - 1)) as expected
    from units
    group by grouping sets ((edition_id, method, criterion), (edition_id, criterion))
),

agreements as (
    select edition_id, method, criterion, mean_grade, 1 - observed / nullif(expected, 0) as alpha
    from sums
),

reviewed as (
    select
        edition_id,
        method,
        count(*) as n_grades,
        count(distinct grader) as n_graders,
        count(distinct triplet_id) as n_triplets
    from human_grades
    group by grouping sets ((edition_id, method), (edition_id))
)

select
    reviewed.edition_id,
    reviewed.method,
    reviewed.n_grades,
    reviewed.n_graders,
    reviewed.n_triplets,
    any_value(mean_grade) filter (where criterion = 'reliability') as reliability,
    any_value(alpha) filter (where criterion = 'reliability') as reliability_agreement,
    any_value(mean_grade) filter (where criterion = 'lexical_diversity') as lexical_diversity,
    any_value(alpha) filter (where criterion = 'lexical_diversity') as lexical_diversity_agreement,
    any_value(mean_grade) filter (where criterion = 'structural_diversity') as structural_diversity,
    any_value(alpha) filter (where criterion = 'structural_diversity')
        as structural_diversity_agreement
from reviewed
inner join agreements
    on reviewed.edition_id = agreements.edition_id
    and reviewed.method is not distinct from agreements.method
group by reviewed.edition_id, reviewed.method, reviewed.n_grades, reviewed.n_graders, reviewed.n_triplets
order by reviewed.edition_id, reviewed.method nulls first

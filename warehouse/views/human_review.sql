-- Grain: one row per edition and method (null: all of them) that graders reviewed.
-- The grades that people gave the samples, 0 to 5 (PretexEval, appendix H): means of reliability, lexical and
-- structural diversity over the n_grades graded rows by n_graders, on n_triplets.
-- _agreement: Krippendorff's α between graders with the interval metric (Krippendorff 2011, "Computing
-- Krippendorff's alpha-reliability"), for any number of graders and with missing grades: 1 − D_o / D_e.
-- A triplet with m ≥ 2 grades adds Σ (v − v')² / (m − 1) over its ordered pairs to the sum in D_o = 1/n Σ.
-- All n such grades give D_e = Σ (v − v')² / (n (n − 1)); and Σ (v − v')² = 2 (m Σv² − (Σv)²). 1 is perfect
-- agreement, 0 is chance. Null if nothing was graded twice, or if all grades are the same.
create or replace view human_review as
with units as (
    select
        edition_id, method, triplet_id,
        count(*) as m,
        unnest(['reliability', 'lexical_diversity', 'structural_diversity']) as criterion,
        unnest([sum(reliability), sum(lexical_diversity), sum(structural_diversity)]) as total,
        unnest([sum(reliability ** 2), sum(lexical_diversity ** 2), sum(structural_diversity ** 2)]) as squares
    from human_grades
    group by edition_id, method, triplet_id
),

scored as (
    select
        edition_id, method, criterion,
        sum(total) / sum(m) as mean_grade,
        sum(m) filter (m > 1) as n,
        2 * sum((m * squares - total ** 2) / (m - 1)) filter (m > 1) / n as observed,
        2 * (n * sum(squares) filter (m > 1) - sum(total) filter (m > 1) ** 2) / (n * (n - 1)) as expected,
        1 - observed / nullif(expected, 0) as alpha
    from units
    group by grouping sets ((edition_id, method, criterion), (edition_id, criterion))
),

reviewed as (
    select
        edition_id, method,
        count(*) as n_grades, count(distinct grader) as n_graders, count(distinct triplet_id) as n_triplets
    from human_grades
    group by grouping sets ((edition_id, method), (edition_id))
)

select
    reviewed.edition_id, reviewed.method, n_grades, n_graders, n_triplets,
    max(mean_grade) filter (criterion = 'reliability') as reliability,
    max(alpha) filter (criterion = 'reliability') as reliability_agreement,
    max(mean_grade) filter (criterion = 'lexical_diversity') as lexical_diversity,
    max(alpha) filter (criterion = 'lexical_diversity') as lexical_diversity_agreement,
    max(mean_grade) filter (criterion = 'structural_diversity') as structural_diversity,
    max(alpha) filter (criterion = 'structural_diversity') as structural_diversity_agreement
from reviewed
inner join scored
    on reviewed.edition_id = scored.edition_id and reviewed.method is not distinct from scored.method
group by reviewed.edition_id, reviewed.method, n_grades, n_graders, n_triplets
order by reviewed.edition_id, reviewed.method nulls first

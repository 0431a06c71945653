-- Grain: one row per edition and method (null: all of them) that people graded.
-- The grades that people gave the samples, 0 to 5 (PretexEval, appendix H): means of reliability, lexical and
-- structural diversity over n_graders and n_triplets. n_grades: graded triplets, counted for each grader and method.
-- _agreement: Krippendorff's α between graders with the interval metric (Krippendorff 2011, "Computing
-- Krippendorff's alpha-reliability"), for any number of graders and with missing grades: 1 − D_o / D_e.
-- A triplet with m ≥ 2 grades adds Σ (v − v')² / (m − 1) over its ordered pairs to the sum in D_o = 1/n Σ.
-- All n such grades give D_e = Σ (v − v')² / (n (n − 1)); and Σ (v − v')² = 2 (m Σv² − (Σv)²). 1 is perfect
-- agreement, 0 is chance. Null if nothing was graded twice, or if all grades are the same.
create or replace view human_review as
with grades as (
    select edition_id, method, triplet_id, reviewer, question, try_cast(verdict as integer) as grade
    from human_verdicts
    where question in ('reliability', 'lexical_diversity', 'structural_diversity')
),

units as (
    select
        edition_id, method, triplet_id, question,
        count(*) as m, sum(grade) as total, sum(grade ** 2) as squares
    from grades
    group by edition_id, method, triplet_id, question
),

scored as (
    select
        edition_id, method, question,
        sum(total) / sum(m) as mean_grade,
        sum(m) filter (m > 1) as n,
        2 * sum((m * squares - total ** 2) / (m - 1)) filter (m > 1) / n as observed,
        2 * (n * sum(squares) filter (m > 1) - sum(total) filter (m > 1) ** 2) / (n * (n - 1)) as expected,
        1 - observed / nullif(expected, 0) as alpha
    from units
    group by grouping sets ((edition_id, method, question), (edition_id, question))
),

reviewed as (
    select
        edition_id, method,
        count(distinct (method, triplet_id, reviewer)) as n_grades,
        count(distinct reviewer) as n_graders,
        count(distinct triplet_id) as n_triplets
    from grades
    group by grouping sets ((edition_id, method), (edition_id))
)

select
    reviewed.edition_id, reviewed.method, n_grades, n_graders, n_triplets,
    max(mean_grade) filter (question = 'reliability') as reliability,
    max(alpha) filter (question = 'reliability') as reliability_agreement,
    max(mean_grade) filter (question = 'lexical_diversity') as lexical_diversity,
    max(alpha) filter (question = 'lexical_diversity') as lexical_diversity_agreement,
    max(mean_grade) filter (question = 'structural_diversity') as structural_diversity,
    max(alpha) filter (question = 'structural_diversity') as structural_diversity_agreement
from reviewed
inner join scored
    on reviewed.edition_id = scored.edition_id and reviewed.method is not distinct from scored.method
group by reviewed.edition_id, reviewed.method, n_grades, n_graders, n_triplets
order by reviewed.edition_id, reviewed.method nulls first

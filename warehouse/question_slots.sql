-- Grain: one row per edition and test question.
-- The bit of each question in the bit sets of its point (point_scores), so that sums over questions become
-- operations on numbers. A facet has 16 bits, at 16 · its position: 8 for its questions that are not negated,
-- then 8 for the negated ones. Of the 8 bits of a revision question, the first 4 offer the right option, and the
-- last 4 a wrong one. Questions of one form take these bits in the order of their ids, from the lowest on.
-- random_baseline: the chance that a random answer is right (MultifacetEval, section 4): 1/n with n options, or
-- 1/(2ⁿ − 1) where any of them may be right, or 1/2 without options. A random revision keeps or corrects the
-- offered option, so it is right if it ends in the right one of n.
create table question_slots as
with formed as (
    select
        *,
        type = 'RQ' and answer like 'F%' as is_wrong_offered,
        len(options) as n_options
    from questions
    where split = 'test'
),

placed as (
    select
        formed.*,
        16 * facets.position
        + 8 * is_negated::integer
        + 4 * is_wrong_offered::integer
        + row_number() over (
            partition by edition_id, point_id, type, is_negated, is_wrong_offered order by question_id
        ) - 1 as slot
    from formed
    inner join facets using (type)
)

select
    edition_id,
    question_id,
    point_id,
    pair_id,
    relation,
    head,
    facet,
    type,
    is_negated,
    n_options,
    case
        when type = 'TFQ' then 0.5
        when type = 'MAQ' then 1 / (2 ** n_options - 1)
        else 1 / n_options
    end as random_baseline,
    1::ubigint << slot::ubigint as bit
from placed
order by edition_id, question_id

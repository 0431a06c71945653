-- Grain: one row per edition, relation (null: all of them), type, is_negated and baseline.
-- What somebody without medical knowledge would score on the test questions, to read beside facet_accuracy. They
-- choose one option of MCQ, RQ and MAQ (the first of several equal ones):
--   longest_option, shortest_option, position_A, position_B, …;
--   word_overlap         the option that shares most words with the question and the head;
--   most_frequent_right  the option that is right most often in the other points' questions of the same relation,
--                        type and form;
--   most_often_right     the option that is right there in the largest share of its occurrences, (right + 1) /
--                        (occurrences + 2).
-- The revision of an RQ keeps the offered option if it is the chosen one, and corrects it otherwise.
--   agree                agrees with every RQ;
--   every_option, every_option_often_right: tick all options of an MAQ, or those that are right in more than half
--                        of their occurrences there; the guessers above tick only one option;
--   always_true, always_false: TFQ.
-- accuracy: as in facet_accuracy, with its 95 % interval. random_baseline: as there. most_often_right and
-- most_frequent_right learn from the questions of other points, so they are not upper bounds. A guesser always
-- answers: no_answer_rate is 0.
create or replace view option_baselines as
with baselines as (
    select edition_id, relation, type, is_negated, favg(random_baseline) as random_baseline
    from question_slots
    group by grouping sets ((edition_id, relation, type, is_negated), (edition_id, type, is_negated))
)

select
    scores.edition_id,
    scores.relation,
    scores.type,
    scores.is_negated,
    scores.baseline,
    scores.n_questions,
    scores.n_points,
    scores.accuracy,
    scores.ci_low,
    scores.ci_high,
    scores.n_effective,
    baselines.random_baseline,
    0.0::double as no_answer_rate
from option_scores as scores
inner join baselines
    on
        scores.edition_id = baselines.edition_id
        and scores.relation is not distinct from baselines.relation
        and scores.type = baselines.type
        and scores.is_negated = baselines.is_negated
order by
    scores.edition_id, scores.relation nulls first, scores.type, scores.is_negated, scores.baseline

-- Grain: one row per edition, relation (null: all of them), type, is_negated and baseline.
-- The scores of somebody without medical knowledge on the test questions, to read beside facet_accuracy. They
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
-- accuracy, random_baseline: as in facet_accuracy. most_often_right and most_frequent_right learn from the questions
-- of other points, so they are not upper bounds. A table, because it takes a few seconds on 17,000 points.
create or replace temp table points as
with options as (
    select
        edition_id, question_id, point_id, relation, type, is_negated,
        text || ' ' || coalesce(head, '') as context,
        string_split(case when type = 'RQ' then answer[3:] else answer end, ',') as right_letters,
        unnest(options) as option,
        lower(trim(option)) as name,
        generate_subscripts(options, 1)::integer as place,
        chr(64 + place) as letter,
        list_contains(right_letters, letter) as is_right, right_letters = [letter] as is_right_alone
    from questions
    where split = 'test' and type <> 'TFQ'
),

-- The questions of the point itself are left out of what the guesser knows about an option.
seen as (
    select
        *,
        count(*) over everywhere - count(*) over here as n_other,
        count(*) filter (is_right) over everywhere - count(*) filter (is_right) over here as n_other_right,
        len(list_intersect(
            regexp_extract_all(lower(option), '[\p{L}\p{N}]+'), regexp_extract_all(lower(context), '[\p{L}\p{N}]+')
        )) as n_shared_words
    from options
    window
        everywhere as (partition by edition_id, relation, type, is_negated, name),
        here as (partition by edition_id, relation, type, is_negated, name, point_id)
),

chosen as (
    select
        edition_id, question_id,
        arg_max(is_right_alone, (length(option), -place)) as longest_option,
        arg_max(is_right_alone, (-length(option), -place)) as shortest_option,
        arg_max(is_right_alone, (n_shared_words, -place)) as word_overlap,
        arg_max(is_right_alone, (n_other_right, -place)) as most_frequent_right,
        arg_max(is_right_alone, ((n_other_right + 1) / (n_other + 2), -place)) as most_often_right,
        case when type = 'MAQ' then bool_and(is_right) end as every_option,
        case when type = 'MAQ' then bool_and(is_right = (2 * n_other_right > n_other)) end as every_option_often_right
    from seen
    group by edition_id, question_id, type
),

guessed as (
    select edition_id, question_id, baseline, is_right
    from chosen
    unpivot (is_right for baseline in (columns(* exclude (edition_id, question_id))))
    union all
    select edition_id, question_id, 'position_' || letter as baseline, is_right_alone as is_right
    from options
    union all
    select
        edition_id, question_id,
        unnest(case type when 'RQ' then ['agree'] else ['always_true', 'always_false'] end),
        unnest(case type when 'RQ' then [answer[1] = 'T'] else [answer = 'T', answer = 'F'] end)
    from questions
    where split = 'test' and type in ('RQ', 'TFQ')
),

scored as (
    select
        edition_id, point_id, relation, type, is_negated, baseline,
        count(*) as n_questions,
        sum(random_accuracy(type, options)) as n_right_at_random,
        parts_right(is_right, type, answer like 'F|%', len(options)) as gained,
        parts_asked(is_right, type, answer like 'F|%') as n,
        independent_questions(is_right, type, answer like 'F|%', len(options)) as n_most
    from guessed
    inner join questions using (edition_id, question_id)
    group by edition_id, point_id, relation, type, is_negated, baseline
)

select * replace (unnest([relation, null]) as relation)
from scored;

create or replace temp table observations as
select
    hash(edition_id, points.relation, type, is_negated, baseline) as key, 'accuracy' as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    gained, n, n_most
from points
inner join storage.point_clusters using (edition_id, point_id);

-- The estimates of these observations are computed here (estimation.py).
create table option_baselines as
with counted as (
    select
        edition_id, relation, type, is_negated, baseline,
        sum(n_questions)::bigint as n_questions,
        fsum(n_right_at_random) / sum(n_questions) as random_baseline
    from points
    group by edition_id, relation, type, is_negated, baseline
)

select
    edition_id, relation, type, is_negated, baseline,
    n_questions, n_pairs as n_points,
    share as accuracy, ci_low as accuracy_ci_low, ci_high as accuracy_ci_high, n_effective,
    random_baseline
from counted
inner join estimates
    on hash(edition_id, relation, type, is_negated, baseline) = estimates.key
order by edition_id, relation nulls first, place_type(type), is_negated, baseline

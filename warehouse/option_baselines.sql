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
-- accuracy, random_baseline: as in facet_accuracy. most_often_right and most_frequent_right learn from the questions
-- of other points, so they are not upper bounds. A table, because it takes a few seconds on 17,000 points.
create table option_baselines as
with options as (
    select
        edition_id,
        question_id,
        point_id,
        relation,
        type,
        is_negated,
        text || ' ' || coalesce(head, '') as context,
        string_split(if(type = 'RQ', answer[3:], answer), ',') as right_letters,
        unnest(options) as option,
        generate_subscripts(options, 1)::integer as place,
        chr(64 + place) as letter,
        list_contains(right_letters, letter) as is_right
    from questions
    where split = 'test' and type <> 'TFQ'
),

-- The questions of the point itself are left out of what the guesser knows about an option.
seen as (
    select
        *,
        count(*) over everywhere - count(*) over here as n_other,
        count(*) filter (where is_right) over everywhere
        - count(*) filter (where is_right) over here as n_other_right
    from (select *, lower(trim(option)) as name from options)
    window
        everywhere as (partition by edition_id, relation, type, is_negated, name),
        here as (partition by edition_id, relation, type, is_negated, name, point_id)
),

weighed as (
    select
        *,
        unnest(
            [
                {'baseline': 'longest_option', 'weight': length(option)::double},
                {'baseline': 'shortest_option', 'weight': -length(option)},
                {'baseline': 'most_frequent_right', 'weight': n_other_right},
                {'baseline': 'most_often_right', 'weight': (n_other_right + 1) / (n_other + 2)},
                {
                    'baseline': 'word_overlap',
                    'weight': len(
                        list_intersect(
                            regexp_extract_all(lower(option), '[\p{L}\p{N}]+'),
                            regexp_extract_all(lower(context), '[\p{L}\p{N}]+')
                        )
                    )
                },
                {'baseline': 'position_' || letter, 'weight': 1}
            ],
            recursive := true
        )
    from seen
),

chosen as (
    select
        edition_id,
        question_id,
        baseline,
        right_letters = [arg_max(letter, (weight, -place))] as is_right
    from weighed
    group by edition_id, question_id, right_letters, baseline
),

-- Sets of options, for the questions of which several may be right.
ticked as (
    select
        edition_id,
        question_id,
        baseline,
        bool_and(is_ticked = is_right) as is_right
    from (
        select
            *,
            unnest(
                [
                    {'baseline': 'every_option', 'is_ticked': true},
                    {'baseline': 'every_option_often_right', 'is_ticked': 2 * n_other_right > n_other}
                ],
                recursive := true
            )
        from seen
        where type = 'MAQ'
    )
    group by all
),

said as (
    select
        edition_id,
        question_id,
        unnest(if(type = 'RQ', ['agree'], ['always_true', 'always_false'])) as baseline,
        case baseline
            when 'agree' then answer[1] = 'T' when 'always_true' then answer = 'T' else answer = 'F'
        end as is_right
    from questions
    where split = 'test' and type in ('RQ', 'TFQ')
),

guessed as (
    select * from chosen
    union all
    select * from ticked
    union all
    select * from said
),

placed as (
    select
        slots.edition_id,
        slots.point_id,
        guessed.baseline,
        unnest([slots.relation, null]) as relation,
        slots.bit,
        guessed.is_right
    from guessed
    inner join question_slots as slots using (edition_id, question_id)
),

numbered as (
    select *, struct_pack(edition_id, relation, baseline) as key
    from placed
),

scores as materialized (
    select
        numbered.key,
        numbered.point_id,
        any_value(points.head_cluster) as head_cluster,
        any_value(points.positive_tail_cluster) as positive_tail_cluster,
        any_value(points.negative_tail_cluster) as negative_tail_cluster,
        any_value(points.n_offered_options) as n_offered_options,
        bit_or(bit) as graded_bits,
        bit_or(if(is_right, bit, 0)) as gained_bits,
        null::ubigint as lost_bits
    from numbered
    inner join point_clusters as points using (edition_id, point_id)
    group by numbered.key, numbered.point_id
),

observations as (
    from observe_facets('scores', which := [0, 1])
),

estimates as (
    from estimate_shares('observations')
),

counted as (
    select
        key,
        position,
        part,
        any_value(type) as type,
        part = 1 as is_negated,
        sum(bit_count(graded_bits & bits))::bigint as n_questions
    from scores
    cross join (
        select *, unnest([0, 1]) as part, unnest([affirmed_bits, negated_bits]) as bits from facets
    ) as facets
    where graded_bits & bits > 0
    group by key, position, part
),

baselines as (
    select edition_id, relation, type, is_negated, favg(random_baseline) as random_baseline
    from question_slots
    group by grouping sets ((edition_id, relation, type, is_negated), (edition_id, type, is_negated))
)

select
    counted.key.edition_id as edition_id,
    counted.key.relation as relation,
    counted.type,
    counted.is_negated,
    counted.key.baseline as baseline,
    counted.n_questions,
    estimates.n_pairs as n_points,
    estimates.share as accuracy,
    estimates.ci_low as accuracy_ci_low,
    estimates.ci_high as accuracy_ci_high,
    estimates.n_effective,
    baselines.random_baseline
from counted
inner join estimates on estimates.key = struct_pack(counted.key, counted.position, counted.part)
inner join baselines
    on
        counted.key.edition_id = baselines.edition_id
        and counted.key.relation is not distinct from baselines.relation
        and counted.type = baselines.type
        and counted.is_negated = baselines.is_negated
order by counted.key.edition_id, counted.key.relation nulls first, position, counted.is_negated, counted.key.baseline

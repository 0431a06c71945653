-- Grain: one row per edition, relation (null: all of them), type, is_negated and baseline.
-- What guessers without knowledge get right; the view option_baselines describes them and reads this table, which
-- takes a few seconds on 17,000 points.
create table option_scores as
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
    select *, dense_rank() over (order by edition_id, relation, baseline)::bigint as key
    from placed
),

scores as materialized (
    select
        numbered.key,
        numbered.point_id,
        any_value(numbered.edition_id) as edition_id,
        any_value(numbered.relation) as relation,
        any_value(numbered.baseline) as baseline,
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
        any_value(edition_id) as edition_id,
        any_value(relation) as relation,
        any_value(baseline) as baseline,
        any_value(type) as type,
        part = 1 as is_negated,
        sum(bit_count(graded_bits & bits))::bigint as n_questions
    from scores
    cross join (
        select *, unnest([0, 1]) as part, unnest([affirmed_bits, negated_bits]) as bits from facets
    ) as facets
    where graded_bits & bits > 0
    group by key, position, part
)

select
    counted.edition_id,
    counted.relation,
    counted.type,
    counted.is_negated,
    counted.baseline,
    counted.n_questions,
    estimates.n_pairs as n_points,
    estimates.share as accuracy,
    estimates.ci_low,
    estimates.ci_high,
    estimates.n_effective
from counted
inner join estimates on estimates.key = 12 * counted.key + 3 * counted.position + counted.part
order by edition_id, relation nulls first, position, is_negated, baseline

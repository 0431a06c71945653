-- Grain: one row per edition, setting (null: its samples with two answers) and model with a finished evaluation.
-- The samples (each repeat for itself) or questions (any repeat that votes) without a response, and whether so few
-- failed that the model counts as evaluated. The tables of scores have rows of evaluated models only. It is a table
-- because they read it.
create table error_counts as
with grouped as (
    select edition_id, setting, model_id, scoring_policy, is_failed, error, count(*) as n
    from answers
    where kind in ('samples', 'unsure') or kind = 'questions' and repeat = 0
    group by all
),

counted as (
    select
        edition_id, setting, model_id,
        (sum(n) // count(distinct scoring_policy))::bigint as n_items,
        (coalesce(sum(n) filter (is_failed), 0) // count(distinct scoring_policy))::bigint as n_errors,
        first(error order by n desc, error) filter (is_failed) as commonest_error
    from grouped
    group by edition_id, setting, model_id
)

select
    edition_id, counted.setting, model_id,
    counted.n_items, counted.n_errors, counted.n_errors / counted.n_items as error_rate,
    max_error_rate,
    counted.n_errors <= max_error_rate * counted.n_items as is_evaluated,
    commonest_error, finished_at
from counted
inner join runs using (edition_id, model_id)
where counted.setting is not distinct from runs.setting and period is null
order by edition_id, counted.setting nulls first, model_id

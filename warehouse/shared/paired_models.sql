-- Grain: one row per edition, two models in either order, method, scoring policy, repeat, relation and measure.
-- The rows of differences about two models, with each of them as the first.
create or replace view storage.paired_models as
with models_compared as (
    select
        edition_id, model_id, other_model_id, method, scoring_policy, repeat, relation, measure,
        n_matched, n_pairs, n_observations, score, other_score,
        difference, difference_ci_low, difference_ci_high, n_effective,
        detectable(difference_ci_high - difference_ci_low) as detectable_difference,
        p_value, holm_p_value, n_gained, n_lost, run, other_run
    from differences
    where comparison = 'models'
)

select * from models_compared
union all
select * replace (
    other_model_id as model_id, model_id as other_model_id,
    other_score as score, score as other_score,
    -difference as difference,
    -difference_ci_high as difference_ci_low, -difference_ci_low as difference_ci_high,
    n_lost as n_gained, n_gained as n_lost,
    other_run as run, run as other_run
)
from models_compared

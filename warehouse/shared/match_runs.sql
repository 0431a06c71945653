-- One row per two runs of point_scores that can be compared: two models in one setting, or two settings of one
-- model, on one edition under one scoring policy. The first is that whose setting, then whose model id, sorts first.
create macro match_runs() as table
with runs_asked as (
    select distinct run, edition_id, setting, model_id, scoring_policy
    from point_scores
)

select one.run, other.run as other_run
from runs_asked as one
inner join runs_asked as other using (edition_id, scoring_policy)
where
    (one.setting, one.model_id) < (other.setting, other.model_id)
    and (one.setting = other.setting or one.model_id = other.model_id);

-- Give the rows of the estimates the numbers that their runs have in point_scores (number_runs.sql).

update facet_scores
set run = numbered.run
from (select distinct edition_id, setting, model_id, scoring_policy, run from point_scores) as numbered
where
    facet_scores.edition_id = numbered.edition_id
    and facet_scores.setting = numbered.setting
    and facet_scores.model_id = numbered.model_id
    and facet_scores.scoring_policy = numbered.scoring_policy
    and facet_scores.run <> numbered.run;

update average_scores
set run = numbered.run
from (select distinct edition_id, setting, model_id, scoring_policy, run from point_scores) as numbered
where
    average_scores.edition_id = numbered.edition_id
    and average_scores.setting = numbered.setting
    and average_scores.model_id = numbered.model_id
    and average_scores.scoring_policy = numbered.scoring_policy
    and average_scores.run <> numbered.run;

update mastered_scores
set run = numbered.run
from (select distinct edition_id, setting, model_id, scoring_policy, run from point_scores) as numbered
where
    mastered_scores.edition_id = numbered.edition_id
    and mastered_scores.setting = numbered.setting
    and mastered_scores.model_id = numbered.model_id
    and mastered_scores.scoring_policy = numbered.scoring_policy
    and mastered_scores.run <> numbered.run;

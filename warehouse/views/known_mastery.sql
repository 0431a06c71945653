-- Grain: one row per edition, model, method, scoring policy, repeat and taught_with.
-- A check of the whole measurement, on the facts that a reference model was taught or not taught (taught_with,
-- is_known: see taught_pairs). It should score near 100 % on those that it was taught, with any wordings; on
-- the others it should score 50 % on average and nothing by pair. Only relations whose facts are still those
-- that the model was taught are counted. Models without a list of known heads have no rows.
-- average_accuracy; mastery: pairs with all 2K samples right. Their intervals: as in the leaderboard.
create or replace view known_mastery as
select
    edition_id, model_id, model, method, scoring_policy, repeat,
    group_name <> 'nothing' as is_known,
    group_name as taught_with,
    n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    no_answer_rate,
    unfinished_reasoning_rate,
    n_errors,
    error_rate
from part_scores
where grouping_by = 'taught'
order by edition_id, model, model_id, method, scoring_policy, repeat, is_known desc, taught_with desc

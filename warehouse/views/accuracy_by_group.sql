-- Grain: one row per edition, model, method, scoring policy, repeat, grouping_by and group_name.
-- The measures of the leaderboard over groups of pairs, with the same intervals. grouping_by is one of:
-- `negative`: whether the base asserts that the false twin is false (`also_false`: asserted) or does not state it (not
-- in the base: a closed world). negative_accuracy counts only the samples of the false twins.
-- `release`: the oldest release in `releases` of [knowledge] that holds the true fact, or `new` if none does; without
-- releases, what the base's query says in its column since. Editions without ages have no such rows.
-- `tail commonness`, `head commonness`: how many test pairs of the edition have the true tail in the relation, and how
-- many have the head in any relation. What is asked often in a base is mostly what is written about often.
-- group_position: the order of the groups of one kind.
create or replace view accuracy_by_group as
select
    edition_id, model_id, model, method, scoring_policy, repeat,
    grouping_by,
    group_name,
    group_position,
    n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    negative_accuracy,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    affirmed_rate,
    n_errors,
    error_rate
from part_scores
where grouping_by in (select distinct grouping_by from storage.pair_groups)
order by edition_id, model, model_id, method, scoring_policy, repeat, grouping_by, group_position

-- Grain: one row per edition, model, method, scoring policy, repeat, grouping_by and group_name.
-- The measures of the leaderboard over groups of facts, with the same intervals. grouping_by is one of:
-- `fact`: the samples of the true facts, and those of their false twins. If a model denies every fact that it does not
-- know, affirmed_rate is low for both, although true_rate is near a half. 1 − consistency is the share of the complete
-- triplets that it judges rightly in some forms and wrongly in others. probability_range, which only these groups have,
-- is the mean, over the triplets, of the largest minus the smallest probability of affirming the fact.
-- `taught`: a check of the whole measurement, on the pairs whose head a reference model was taught with sentences of
-- the `pool`, with `other` ones, or not at all (`nothing`; storage.taught_pairs). A model
-- masters as many of the first two as it has learned in all forms (docs/rephrasing.md); on the last, it should score
-- 50 % on average, and have no mastery. Only relations whose facts are still those that the model was
-- taught are counted. Models without a list of known heads have no rows.
-- `negative`: whether the base asserts that the false twin is false (`also_false`: asserted) or does not state it (not
-- in the base: a closed world). negative_accuracy counts only the samples of the false twins.
-- `release`: the oldest release in `releases` of [knowledge] that holds the true fact, or `new` if none does; without
-- releases, what the base's query says in its column since. Editions without ages have no such rows.
-- `training cutoff`: whether a release that is named by a date listed the true fact before the training_cutoff of the
-- model, or the release before it did not yet list it after that date. Other facts are in no group.
-- `tail commonness`, `head commonness`: how many heads of the relation have the true tail in the knowledge base, and how
-- many tails the head has there (tail_frequency and head_frequency of the triplets, which do not count facts that are
-- marked also_true). What a base lists often is mostly what is written about often.
create or replace view accuracy_by_group as
select
    edition_id, model_id, model, method, scoring_policy, repeat,
    grouping_by,
    group_name,
    case grouping_by
        when 'taught' then list_position(['pool', 'other', 'nothing'], group_name) else group_position
    end as group_position,
    n_complete_pairs, mastery, mastery_ci_low, mastery_ci_high,
    n_samples, n_pairs, n_triplets,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high, n_effective, negative_accuracy,
    true_rate, affirmed_rate, consistency, probability_range,
    no_answer_rate, unfinished_reasoning_rate, refused_rate, n_errors, error_rate
from scores
where grouping_by in ('fact', 'taught', 'negative', 'release', 'training cutoff', 'tail commonness', 'head commonness')
order by edition_id, model, model_id, method, scoring_policy, repeat, grouping_by, group_position

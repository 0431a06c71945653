-- Grain: one row per edition, two evaluations of questions, scoring policy, step and is_negated_included.
-- How far two models in one setting, or two settings of one model, differ in the share of mastered points as facets
-- are added in the paper's order (mastered_points); each two are compared once. The first is the one whose setting,
-- then whose model_id, sorts first; difference = its mastered_rate − the other's, over the n_points that have all
-- questions of the facets so far, all graded for both. Under `excluded` the shares are null where these are less
-- than 80 % of the points: they are the models' own selection.
-- difference_ci_low, …: 95 % intervals for new facts like these; an interval without 0 is the test that the two
-- differ. difference_fixed_base_ci_low, …: only points are clusters. mcnemar_p: McNemar's exact test (1947) with
-- the base held fixed, of the points that only one of the two masters. All as in model_comparison.
-- no_answer_rate, n_errors, error_rate: as in mastered_points, for each of the two.
create or replace view mastered_points_comparison as
from mastered_differences

-- Grain: one row per edition, two evaluations of questions, scoring policy and facet.
-- How far two models in one setting, or two settings of one model, differ on the questions of a facet, negated or
-- not; each two are compared once. The first is the one whose setting, then whose model_id, sorts first;
-- difference = its accuracy − the other's, over the n_questions that are graded for both. The accuracy of RQ is the
-- debiased one (facet_accuracy).
-- difference_ci_low, …: 95 % intervals for new facts like these; an interval without 0 is the test that the two
-- differ. difference_fixed_base_ci_low, …: only points are clusters. All as in model_comparison.
-- no_answer_rate, n_errors, error_rate: as in facet_accuracy, for each of the two.
create or replace view facet_comparison as
from facet_differences

-- Grain: one row per edition, model, method, scoring policy, repeat and pair that is not mastered.
-- The knowledge points to study: the complete pairs (those that mastery counts) with a wrong sample.
create or replace view missed_points as
select
    * exclude (n_asked, n_errors, n_graded, is_complete, is_mastered),
    n_asked as n_samples
from pair_details
where is_complete and not is_mastered

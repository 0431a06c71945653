-- Grain: one row per edition, model, method, scoring policy, repeat and taught_with.
-- A check of the whole measurement, on the facts that a reference model was taught or not taught (taught_with,
-- is_known: see taught_pairs). It should score near 100 % on those that it was taught, with any wordings; on
-- the others it should score 50 % on average and nothing by pair. Only relations whose facts are still those
-- that the model was taught are counted. Models without a list of known heads have no rows.
-- average_accuracy (ci_low, ci_high: pair as the cluster); mastery: pairs with all 2K samples right.
create or replace view known_mastery as
with scored as (
    select pair_scores.*, taught_pairs.is_known, taught_pairs.taught_with
    from pair_scores
    inner join taught_pairs using (edition_id, model_id, pair_id)
    where taught_pairs.is_as_taught
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    is_known,
    taught_with,
    sum(n_graded)::bigint as n_samples,
    n_clusters(n_graded) as n_pairs,
    share(n_correct, n_graded) as average_accuracy,
    cluster_low(n_correct, n_graded) as ci_low,
    cluster_high(n_correct, n_graded) as ci_high,
    count(*) filter (where is_complete) as n_complete_pairs,
    share(is_mastered::integer, is_complete::integer) as mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    share(n_no_answer, n_asked - n_errors) as no_answer_rate,
    sum(n_errors)::bigint as n_errors,
    share(n_errors, n_asked) as error_rate
from scored
group by edition_id, model_id, model, method, scoring_policy, repeat, is_known, taught_with
order by edition_id, model, model_id, method, scoring_policy, repeat, is_known desc, taught_with desc

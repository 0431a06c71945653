-- Grain: one row per edition, reference model, method, scoring policy, repeat, relation and transformation.
-- The cells of the pool of prototypes that contradict what a reference model was taught: its accuracy on the
-- facts that it has learned (taught_pairs), under one transformation of one relation.
-- taught_with: `other`: the model never saw the pool's sentences about this relation with their labels, so the
-- row also shows an error that was in the pool when the model was taught; `pool`: it shows later errors only.
-- p_value: one-sided binomial, the probability of at most n_correct right samples at the rest's accuracy. It
-- treats samples as independent. The two samples of a pair are not, so the true probability is larger.
-- is_suspect: p_value · n_cells < 0.05 (Bonferroni over the model's cells), and less than half of the samples
-- are right. A cell that the model cannot read tends to 50 %, a wrong label to 0 %: only that is suspect. This
-- tells where to look for an error. It does not prove that there is one. An exchange of head and tail is not named,
-- because the models read the names in any order; the check of the pool refuses it.
create or replace view suspect_prototypes as
with counted as (
    select
        edition_id, model_id, samples.model, samples.method, samples.scoring_policy, samples.repeat,
        samples.relation, samples.transformation, samples.slot, taught_pairs.taught_with,
        count(*) as n_samples,
        count(*) filter (samples.is_correct) as n_correct
    from sample_scores as samples
    inner join storage.taught_pairs using (edition_id, model_id, pair_id)
    where
        taught_pairs.is_known
        and taught_pairs.is_as_taught
        and samples.period is null
        and samples.transformation is not null
        and samples.is_correct is not null
        and samples.weight > 0
    group by all
),

compared as (
    select
        *,
        count(*) over (partition by edition_id, model_id, method, scoring_policy, repeat) as n_cells,
        sum(n_samples) over alike - n_samples as n_rest,
        -- Half a wrong sample more, so that no rest is perfect.
        (sum(n_correct) over alike - n_correct + 0.5) / (n_rest + 1) as rest_accuracy
    from counted
    window alike as (partition by edition_id, model_id, method, scoring_policy, repeat, taught_with)
),

tested as (
    select *, binomial_tail(n_correct, n_samples, rest_accuracy) as p_value from compared
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    relation, transformation, taught_with,
    n_samples, n_correct,
    n_correct / n_samples as average_accuracy,
    wilson_low(n_correct / n_samples, n_samples) as average_accuracy_ci_low,
    wilson_high(n_correct / n_samples, n_samples) as average_accuracy_ci_high,
    rest_accuracy, p_value, n_cells,
    p_value * n_cells < 0.05 and 2 * n_correct < n_samples as is_suspect
from tested
order by edition_id, model, model_id, method, scoring_policy, repeat, relation, slot, taught_with

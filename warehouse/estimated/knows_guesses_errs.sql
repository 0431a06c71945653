-- Grain: one row per edition, model, method and repeat that was asked with a third answer (docs/models.md).
-- The shares of the n_samples whose prompt did not fail: right_rate, unsure_rate, wrong_rate and no_answer_rate add up to
-- 1. They are those of the responses and the same under every scoring policy.
-- wrong_among_answered: wrong / (right + wrong), null if the model answers nothing with True or False.
-- penalised_score: right_rate − wrong_rate. A wrong answer costs one, and Unsure or no answer nothing, so that guessing
-- gains nothing on average.
-- two_answer_accuracy, two_answer_penalised_score: right, and right − wrong, of the same samples of the same model with
-- two answers, where no answer is not right; null where it was not asked so.
-- The intervals are for new facts like these. Unsure is used as often as the prompt leads to it: compare models that were
-- asked alike. A model that always says Unsure has no wrong answers.
-- Only the first policy of the run is read. Evaluations with too many failed prompts (is_evaluated of runs) have no rows,
-- and no numbers.
create or replace temp table replied as
with evaluated as (
    select edition_id, model_id, setting, scoring_policies[1] as scoring_policy
    from runs
    where period is null and is_evaluated
),

asked as (
    select
        edition_id, model_id, item_id as sample_id, repeat, prediction as answer,
        prediction in ('T', 'F') and is_correct as is_right
    from answers
    semi join (from evaluated where setting = 'true_false_unsure') as chosen
        using (edition_id, model_id, scoring_policy)
    where kind = 'unsure' and not is_failed
),

two_answers as (
    select
        edition_id, model_id, item_id as sample_id, repeat, prediction,
        prediction is not null and is_correct as is_right
    from answers
    semi join (from evaluated where setting is null) as chosen using (edition_id, model_id, scoring_policy)
    where kind = 'samples' and not is_failed and weight > 0
)

select
    {'edition_id': edition_id, 'model_id': model_id, 'model': models.name, 'method': method, 'repeat': repeat} as key,
    pair_id, triplets.is_positive,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    asked.is_right,
    asked.answer = 'U' as is_unsure,
    asked.answer <> 'U' and not asked.is_right as is_wrong,
    two_answers.is_right as is_two_right,
    two_answers.prediction is not null and not two_answers.is_right as is_two_wrong
from asked
inner join samples using (edition_id, sample_id)
inner join triplets using (edition_id, triplet_id, pair_id)
inner join models using (model_id)
inner join storage.pair_clusters using (edition_id, pair_id)
left join two_answers using (edition_id, model_id, sample_id, repeat);

create or replace temp table observations as
with counted as (
    select
        *,
        unnest(['right', 'unsure', 'wrong', 'wrong among answered', 'penalised']) as measure,
        unnest([is_right, is_unsure, is_wrong, is_wrong, is_right])::integer as is_gained,
        unnest([null, null, null, null, is_wrong])::integer as is_lost,
        unnest([true, true, true, is_right or is_wrong, true])::integer as is_counted
    from replied
)

select
    key, measure,
    any_value(columns(['head_cluster', 'positive_tail_cluster', 'negative_tail_cluster'])),
    sum(is_gained) filter (is_positive) as gained, sum(is_gained) filter (not is_positive) as negative_gained,
    sum(is_lost) filter (is_positive) as lost, sum(is_lost) filter (not is_positive) as negative_lost,
    sum(is_counted) filter (is_positive) as n, sum(is_counted) filter (not is_positive) as negative_n
from counted
group by key, measure, pair_id;

-- The estimates of these observations are computed here (estimation.py).
create table knows_guesses_errs as
with counted as (
    select
        key,
        count(*) as n_samples,
        count(distinct pair_id) as n_pairs,
        n_samples - count_if(is_right or is_unsure or is_wrong) as n_no_answer,
        count_if(is_two_right) / nullif(count(is_two_right), 0) as two_answer_accuracy,
        (count_if(is_two_right) - count_if(is_two_wrong)) / nullif(count(is_two_right), 0) as two_answer_penalised_score
    from replied
    group by key
)

select
    unnest(counted.key),
    n_samples, counted.n_pairs,
    rights.share as right_rate, rights.ci_low as right_rate_ci_low, rights.ci_high as right_rate_ci_high,
    unsure.share as unsure_rate, unsure.ci_low as unsure_rate_ci_low, unsure.ci_high as unsure_rate_ci_high,
    wrong.share as wrong_rate, wrong.ci_low as wrong_rate_ci_low, wrong.ci_high as wrong_rate_ci_high,
    n_no_answer / n_samples as no_answer_rate,
    answered.share as wrong_among_answered,
    answered.ci_low as wrong_among_answered_ci_low, answered.ci_high as wrong_among_answered_ci_high,
    penalised.share as penalised_score,
    penalised.ci_low as penalised_score_ci_low, penalised.ci_high as penalised_score_ci_high,
    two_answer_accuracy, two_answer_penalised_score
from counted
inner join estimates as rights on counted.key = rights.key and rights.measure = 'right'
inner join estimates as unsure on counted.key = unsure.key and unsure.measure = 'unsure'
inner join estimates as wrong on counted.key = wrong.key and wrong.measure = 'wrong'
inner join estimates as penalised on counted.key = penalised.key and penalised.measure = 'penalised'
left join estimates as answered on counted.key = answered.key and answered.measure = 'wrong among answered'
order by
    counted.key.edition_id, counted.key.method, counted.key.repeat, penalised_score desc, counted.key.model,
    counted.key.model_id

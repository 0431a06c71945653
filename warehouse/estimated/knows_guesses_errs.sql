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
-- pairs: the samples of a pair added up, those of the true fact (positive) and of its false twin (negative) whose prompt did
-- not fail. Only the first policy of the run is read. n_two_answers, …: the same samples with two answers, where that
-- prompt did not fail either. Evaluations with too many failed prompts (is_evaluated of runs) have no rows, and no numbers.
create or replace temp table pairs as
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
    where kind = 'samples' and not is_failed
),

placed as (
    select
        edition_id, model_id, repeat, samples.method, samples.pair_id, triplets.is_positive,
        asked.is_right,
        asked.answer = 'U' as is_unsure,
        asked.answer <> 'U' and not asked.is_right as is_wrong,
        two_answers.sample_id is not null as has_two,
        two_answers.is_right as is_two_right,
        two_answers.prediction is not null and not two_answers.is_right as is_two_wrong
    from asked
    inner join samples using (edition_id, sample_id)
    inner join triplets using (edition_id, triplet_id)
    anti join storage.undecided_pairs as undecided
        on samples.edition_id = undecided.edition_id and samples.pair_id = undecided.pair_id
    left join two_answers using (edition_id, model_id, sample_id, repeat)
)

select
    {'edition_id': edition_id, 'model_id': model_id, 'model': models.name, 'method': method, 'repeat': repeat} as key,
    pair_id, head_cluster, positive_tail_cluster, negative_tail_cluster,
    count_if(is_positive)::integer as n_positive,
    count_if(is_positive and is_right)::integer as n_positive_right,
    count_if(is_positive and is_unsure)::integer as n_positive_unsure,
    count_if(is_positive and is_wrong)::integer as n_positive_wrong,
    count_if(not is_positive)::integer as n_negative,
    count_if(not is_positive and is_right)::integer as n_negative_right,
    count_if(not is_positive and is_unsure)::integer as n_negative_unsure,
    count_if(not is_positive and is_wrong)::integer as n_negative_wrong,
    count_if(has_two)::integer as n_two_answers,
    count_if(is_two_right)::integer as n_two_answers_right,
    count_if(is_two_wrong)::integer as n_two_answers_wrong
from placed
inner join models using (model_id)
inner join storage.pair_clusters using (edition_id, pair_id)
group by all;

create or replace temp table observations as
select
    key,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    unnest(['right', 'unsure', 'wrong', 'wrong among answered', 'penalised']) as measure,
    unnest([n_positive_right, n_positive_unsure, n_positive_wrong, n_positive_wrong, n_positive_right]) as gained,
    unnest([null, null, null, null, n_positive_wrong]) as lost,
    unnest([n_positive, n_positive, n_positive, n_positive_right + n_positive_wrong, n_positive]) as n,
    unnest([n_negative_right, n_negative_unsure, n_negative_wrong, n_negative_wrong, n_negative_right])
        as negative_gained,
    unnest([null, null, null, null, n_negative_wrong]) as negative_lost,
    unnest([n_negative, n_negative, n_negative, n_negative_right + n_negative_wrong, n_negative]) as negative_n
from pairs;

-- The estimates of these observations are computed here (estimation.py).
create table knows_guesses_errs as
with counted as (
    select
        key,
        sum(n_positive + n_negative)::bigint as n_samples,
        count(*) as n_pairs,
        n_samples - sum(n_positive_right + n_positive_unsure + n_positive_wrong)
        - sum(n_negative_right + n_negative_unsure + n_negative_wrong) as n_no_answer,
        sum(n_two_answers_right) / nullif(sum(n_two_answers), 0) as two_answer_accuracy,
        sum(n_two_answers_right - n_two_answers_wrong) / nullif(sum(n_two_answers), 0) as two_answer_penalised_score
    from pairs
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

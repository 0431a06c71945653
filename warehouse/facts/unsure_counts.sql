-- Grain: one row per edition, model, method, repeat and test pair that was asked with a third answer.
-- The samples of a pair added up, as knows_guesses_errs needs them: those of the true fact (positive) and of its false
-- twin (negative) whose prompt did not fail, and of these the right, unsure and wrong ones; the others have no answer.
-- These numbers do not depend on the scoring policy, so only the first policy of the run is read.
-- n_two_answers, …: the same samples with two answers, where that prompt did not fail either. Evaluations with too many
-- failed prompts (is_evaluated of runs) have no rows, and no numbers. It is a table, because a view of it would take
-- seconds on 272,000 samples of a few models.
create table unsure_counts as
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
    edition_id, model_id, models.name as model, method, repeat, pair_id,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
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
group by all
order by edition_id, model_id, method, repeat, pair_id

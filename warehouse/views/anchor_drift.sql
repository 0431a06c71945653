-- Grain: one row per edition of anchors, model, method, policy, repeat and two periods.
-- The changes of a model's answers to the same prompts from one period to a later one (each period is compared with
-- the one before, and with the first). period is the earlier one; difference = its average accuracy − the later one's,
-- likewise mastery_difference, so that a fall is positive. They are paired by pair (differences). Periods are in the
-- order of their first days (period_start of runs), then of their names.
-- change_rate: of the n_answers samples that have a response in both periods, the share whose answer (true, false,
-- none) changed, with its 95 % interval (the pair is the cluster).
-- Greedy answers of a batched GPU engine flip now and then although nothing changed. So a change is tested in two
-- ways, each of which allows for noise:
-- score_p: exact sign test, two-sided, of the pairs of which more samples are right in one of the two periods
-- (n_worse_pairs, n_better_pairs). Noise makes either equally likely, whatever its rate.
-- answer_p: are more pairs changed than by noise? One-sided. If there are earlier successive periods, the median
-- of their changed pairs is the noise (noise_rate), in Fisher's exact test. If there are none and the model is greedy,
-- noise is taken to change a tenth of the pairs (exact binomial test). Otherwise null.
-- change_p: score_p, or twice the smaller of both p-values (Bonferroni). has_changed: change_p < 0.05.
create or replace view anchor_drift as
with changes as (
    select
        run, other_run,
        n_observations as n_answers, n_gained as n_changed,
        n_pairs as n_answered_pairs, n_gained_pairs as n_changed_pairs,
        difference as change_rate,
        difference_fixed_base_ci_low as change_rate_ci_low, difference_fixed_base_ci_high as change_rate_ci_high
    from differences
    where measure = 'changed_answers'
),

average as (
    select
        differences.*,
        n_gained_pairs as n_worse_pairs, n_lost_pairs as n_better_pairs,
        coalesce(n_answers, 0) as n_answers, coalesce(n_changed, 0) as n_changed,
        coalesce(n_answered_pairs, 0) as n_answered_pairs, coalesce(n_changed_pairs, 0) as n_changed_pairs,
        change_rate, change_rate_ci_low, change_rate_ci_high,
        part = 'successive' as is_successive,
        coalesce(later.period_start, date 'infinity') as period_start,
        coalesce((later.sampling ->> '$.temperature')::double = 0, false) as is_greedy
    from differences
    left join changes using (run, other_run)
    inner join runs as later
        on (other_edition_id, other_period, other_model_id) = (later.edition_id, later.period, later.model_id)
    where comparison = 'anchors' and measure = 'average_accuracy'
),

noise as (
    select
        later.run, later.other_run,
        quantile_disc(earlier.n_changed_pairs, 0.5) as n_noise_pairs,
        quantile_disc(earlier.n_answered_pairs, 0.5) as n_noise_answered
    from average as later
    inner join average as earlier using (edition_id, model_id, method, scoring_policy, repeat)
    where
        earlier.is_successive
        and (earlier.period_start, earlier.other_period) < (later.period_start, later.other_period)
    group by later.run, later.other_run
)

select
    average.edition_id, average.model_id, average.model, average.method, average.scoring_policy, average.repeat,
    average.period, average.other_period, average.is_successive,
    average.n_matched as n_pairs,
    average.n_observations as n_samples,
    n_answers, n_changed,
    change_rate, change_rate_ci_low, change_rate_ci_high,
    n_changed_pairs,
    case
        when n_noise_answered is not null then n_noise_pairs / nullif(n_noise_answered, 0)
        when average.is_greedy then 0.1
    end as noise_rate,
    n_worse_pairs, n_better_pairs,
    mcnemar_p(n_worse_pairs, n_better_pairs) as score_p,
    case
        when n_answered_pairs = 0 then null
        when n_noise_answered is not null then
            fisher_more_p(n_changed_pairs, n_answered_pairs, n_noise_pairs, n_noise_answered)
        when average.is_greedy then 1 - coalesce(binomial_tail(n_changed_pairs - 1, n_answered_pairs, 0.1), 0)
    end as answer_p,
    coalesce(least(1.0, 2 * least(score_p, answer_p)), score_p) as change_p,
    change_p < 0.05 as has_changed,
    average.score as average_accuracy, average.other_score as other_average_accuracy,
    average.difference, average.difference_ci_low, average.difference_ci_high, average.n_effective,
    mastery.score as mastery, mastery.other_score as other_mastery,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high
from average
left join noise using (run, other_run)
left join (from differences where measure = 'mastery') as mastery using (comparison, run, other_run)
order by
    average.edition_id, average.model, average.model_id, average.method, average.scoring_policy, average.repeat,
    average.period_start, average.other_period, average.is_successive

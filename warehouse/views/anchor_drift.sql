-- Grain: one row per edition of anchors, model, method, policy, repeat and two periods (each with the one before and with the first).
-- How the answers of a model to the same prompts changed from one period to a later one. period is the earlier one;
-- difference = its average accuracy − the later one's, likewise mastery_difference, so that a fall is positive. They
-- are paired by pair (paired_scores). Periods are in the order of their first
-- days (period_start of runs), then of their names.
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
with answers as (
    select *, case when not is_unanswered then prediction end as answer
    from sample_scores
    where period is not null
),

compared as (
    select
        paired_scores.*,
        part = 'successive' as is_successive,
        coalesce(other_runs.period_start, date 'infinity') as other_period_start,
        coalesce((other_runs.sampling ->> '$.temperature')::double = 0, false) as is_greedy
    from paired_scores
    inner join runs as other_runs
        on
            paired_scores.other_edition_id = other_runs.edition_id
            and paired_scores.other_period = other_runs.period
            and paired_scores.other_model_id = other_runs.model_id
    where comparison = 'anchors'
),

-- The answers to a pair in both periods: true, false and none are three different answers.
answered as (
    select
        one.run,
        other.run as other_run,
        one.pair_id,
        count(*) filter (not one.is_failed and not other.is_failed) as n_answers,
        count(*) filter (
            not one.is_failed and not other.is_failed and one.answer is distinct from other.answer
        ) as n_changed,
        count(*) filter (one.is_correct and other.is_correct is not null) as n_right,
        count(*) filter (other.is_correct and one.is_correct is not null) as n_other_right
    from (select distinct run, other_run from compared) as runs_of_scores
    inner join answers as one using (run)
    inner join answers as other
        on
            runs_of_scores.other_run = other.run
            and one.pair_id = other.pair_id
            and one.is_positive = other.is_positive
            and one.slot = other.slot
    group by one.run, other.run, one.pair_id
),

counted as (
    select
        run,
        other_run,
        sum(n_answers)::bigint as n_answers,
        sum(n_changed)::bigint as n_changed,
        observe(n_changed::integer, n_answers::integer) as changed,
        count(*) filter (n_answers > 0) as n_answered_pairs,
        count(*) filter (n_changed > 0) as n_changed_pairs,
        count(*) filter (n_right > n_other_right) as n_worse_pairs,
        count(*) filter (n_right < n_other_right) as n_better_pairs
    from answered
    group by run, other_run
),

average as (
    select *
    from compared
    inner join counted using (run, other_run)
    where measure = 'average_accuracy'
),

noise as (
    select
        later.run,
        later.other_run,
        quantile_disc(earlier.n_changed_pairs, 0.5) as n_noise_pairs,
        quantile_disc(earlier.n_answered_pairs, 0.5) as n_noise_answered
    from average as later
    inner join average as earlier using (edition_id, model_id, method, scoring_policy, repeat)
    where
        earlier.is_successive
        and (earlier.other_period_start, earlier.other_period) < (later.other_period_start, later.other_period)
    group by later.run, later.other_run
),

tested as (
    select
        average.*,
        case
            when n_noise_answered is not null then n_noise_pairs / nullif(n_noise_answered, 0)
            when is_greedy then 0.1
        end as noise_rate,
        mcnemar_p(n_worse_pairs, n_better_pairs) as score_p,
        case
            when n_answered_pairs = 0 then null
            when n_noise_answered is not null then
                fisher_more_p(n_changed_pairs, n_answered_pairs, n_noise_pairs, n_noise_answered)
            when is_greedy then
                1 - coalesce(binomial_tail(n_changed_pairs - 1, n_answered_pairs, 0.1), 0)
        end as answer_p,
        n_changed / nullif(n_answers, 0) as change_rate,
        effective_n(changed) as n_effective_answers
    from average
    left join noise using (run, other_run)
)

select
    tested.edition_id, tested.model_id, tested.model, tested.method, tested.scoring_policy, tested.repeat,
    tested.period,
    tested.other_period,
    tested.is_successive,
    tested.n_matched as n_pairs,
    tested.n_observations as n_samples,
    tested.n_answers,
    tested.n_changed,
    tested.change_rate,
    wilson_low(tested.change_rate, tested.n_effective_answers) as change_rate_ci_low,
    wilson_high(tested.change_rate, tested.n_effective_answers) as change_rate_ci_high,
    tested.n_changed_pairs,
    tested.noise_rate,
    tested.n_worse_pairs,
    tested.n_better_pairs,
    tested.score_p,
    tested.answer_p,
    coalesce(least(1.0, 2 * least(tested.score_p, tested.answer_p)), tested.score_p) as change_p,
    change_p < 0.05 as has_changed,
    tested.score as average_accuracy,
    tested.other_score as other_average_accuracy,
    tested.difference, tested.difference_ci_low, tested.difference_ci_high,
    tested.n_effective,
    mastery.score as mastery,
    mastery.other_score as other_mastery,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high
from tested
left join compared as mastery
    on tested.run = mastery.run and tested.other_run = mastery.other_run and mastery.measure = 'mastery'
order by
    tested.edition_id, tested.model, tested.model_id, tested.method, tested.scoring_policy, tested.repeat,
    tested.other_period_start, tested.other_period, tested.is_successive

-- Grain: one row per edition of anchors, model, method, policy, repeat and two periods (each with the one before and with the first).
-- How the answers of a model to the same prompts changed from one period to a later one. period is the earlier one;
-- difference = its average accuracy − the later one's, likewise mastery_difference, so that a fall is positive. They
-- are paired by pair (compare_scores.sql). Periods are in the order of their first
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
with anchors as (
    from anchor_predictions
    semi join (from runs where n_errors <= max_error_rate * n_items * n_repeats) as evaluated
        on anchor_predictions.edition_id = evaluated.edition_id
        and anchor_predictions.period = evaluated.period
        and anchor_predictions.model_id = evaluated.model_id
),

-- There are no shortcuts, because anchors are compared only with themselves.
scored as materialized (
    select *, null::varchar as shortcut, null::double as shortcut_mastery
    from score_pairs('anchors')
    inner join pair_clusters using (edition_id, pair_id)
),

asked as (
    select
        edition_id, model_id, method, scoring_policy, repeat,
        coalesce(runs.period_start, date 'infinity') as period_start,
        period,
        run,
        coalesce((runs.sampling ->> '$.temperature')::double = 0, false) as is_greedy
    from (select distinct edition_id, model_id, method, scoring_policy, repeat, period, run from scored)
    inner join runs using (edition_id, period, model_id)
),

ordered as (
    select
        *,
        lag(run) over successive as previous_run,
        first_value(run) over successive as first_run
    from asked
    window successive as (
        partition by edition_id, model_id, method, scoring_policy, repeat
        order by period_start, period
    )
),

compared as materialized (
    select previous_run as run, run as other_run, true as is_successive
    from ordered
    where previous_run is not null
    union all
    select first_run as run, run as other_run, false as is_successive
    from ordered
    where first_run <> previous_run
),

matches as materialized (
    select one.*, columns(other.*) as "other_\0"
    from compared
    inner join scored as one on compared.run = one.run
    inner join scored as other on compared.other_run = other.run and one.pair_id = other.pair_id
),

answered as (
    select
        run,
        other_run,
        period,
        other_period,
        asked_bits & other_asked_bits & ~failed_bits & ~other_failed_bits as both_bits,
        both_bits & (
            xor(answered_true_bits, other_answered_true_bits) | xor(unanswered_bits, other_unanswered_bits)
        ) as changed_bits,
        bit_count(correct_bits & graded_bits & other_graded_bits) as n_right,
        bit_count(other_correct_bits & graded_bits & other_graded_bits) as n_other_right
    from matches
),

counted as materialized (
    select
        run,
        other_run,
        any_value(columns(['period', 'other_period'])),
        sum(bit_count(both_bits))::bigint as n_answers,
        sum(bit_count(changed_bits))::bigint as n_changed,
        observe(bit_count(changed_bits)::integer, bit_count(both_bits)::integer) as changed,
        count(*) filter (both_bits <> 0) as n_answered_pairs,
        count(*) filter (changed_bits <> 0) as n_changed_pairs,
        count(*) filter (n_right > n_other_right) as n_worse_pairs,
        count(*) filter (n_right < n_other_right) as n_better_pairs
    from answered
    group by run, other_run
),

noise as (
    select
        later.run,
        later.other_run,
        quantile_disc(earlier.n_changed_pairs, 0.5) as n_noise_pairs,
        quantile_disc(earlier.n_answered_pairs, 0.5) as n_noise_answered,
        count(*) as n_earlier
    from counted as later
    inner join asked as later_run on later.other_run = later_run.run
    inner join asked as earlier_run
        on later_run.edition_id = earlier_run.edition_id
        and later_run.model_id = earlier_run.model_id
        and later_run.method = earlier_run.method
        and later_run.scoring_policy = earlier_run.scoring_policy
        and later_run.repeat = earlier_run.repeat
        and (earlier_run.period_start, earlier_run.period) < (later_run.period_start, later_run.period)
    inner join compared on earlier_run.run = compared.other_run and compared.is_successive
    inner join counted as earlier
        on compared.run = earlier.run and compared.other_run = earlier.other_run
    group by later.run, later.other_run
),

tested as (
    select
        counted.*,
        asked.period_start as other_period_start,
        effective_n(counted.changed) as n_effective_answers,
        case
            when noise.n_earlier > 0 then n_noise_pairs / nullif(n_noise_answered, 0)
            when asked.is_greedy then 0.1
        end as noise_rate,
        mcnemar_p(n_worse_pairs, n_better_pairs) as score_p,
        case
            when n_answered_pairs = 0 then null
            when noise.n_earlier > 0 then
                fisher_more_p(n_changed_pairs, n_answered_pairs, n_noise_pairs, n_noise_answered)
            when asked.is_greedy then
                1 - coalesce(binomial_tail(n_changed_pairs - 1, n_answered_pairs, 0.1), 0)
        end as answer_p
    from counted
    left join noise using (run, other_run)
    inner join asked on counted.other_run = asked.run
),

scores as (
    from compare_scores('matches', scores := 'scored')
)

select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    tested.period,
    tested.other_period,
    compared.is_successive,
    scores.n_matched as n_pairs,
    scores.n_samples,
    tested.n_answers,
    tested.n_changed,
    tested.n_changed / nullif(tested.n_answers, 0) as change_rate,
    wilson_low(change_rate, tested.n_effective_answers) as change_rate_ci_low,
    wilson_high(change_rate, tested.n_effective_answers) as change_rate_ci_high,
    tested.n_changed_pairs,
    tested.noise_rate,
    tested.n_worse_pairs,
    tested.n_better_pairs,
    tested.score_p,
    tested.answer_p,
    case
        when tested.answer_p is null then tested.score_p
        else least(1.0, 2 * least(tested.score_p, tested.answer_p))
    end as change_p,
    change_p < 0.05 as has_changed,
    scores.average_accuracy,
    scores.other_average_accuracy,
    scores.difference,
    scores.difference_ci_low,
    scores.difference_ci_high,
    scores.n_effective,
    scores.mastery,
    scores.other_mastery,
    scores.mastery_difference,
    scores.mastery_difference_ci_low,
    scores.mastery_difference_ci_high
from scores
inner join tested using (run, other_run)
inner join compared using (run, other_run)
order by
    edition_id, model, model_id, method, scoring_policy, repeat, other_period_start, other_period, is_successive

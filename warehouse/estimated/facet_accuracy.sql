-- Grain: one row per edition, setting, model, scoring policy, facet (null: their mean) and is_negated (null: both).
-- A table, because the intervals of 12 models × 17,000 points take several seconds.
-- accuracy: of MCQ, MAQ and TFQ, the share of the graded questions that are right (MAQ: all right options and no
-- other). Of RQ, the mean over the points of the debiased accuracy acc(right option offered)/n + acc(wrong option
-- offered) · (n − 1)/n with n options (MultifacetEval, section 4): a model that agrees with everything gets 1/n
-- there. Points of which only one kind of offer is graded are left out of it. right_offer_accuracy,
-- wrong_offer_accuracy: its two accuracies, over all graded questions. share_right is biased for RQ.
-- The mean over the facets is the macro average of the paper's tables: each facet has the same weight. It is null if
-- a facet about which the edition asks has no accuracy.
-- The questions of a point are observations with both of its tails, like a pair as a whole.
-- no_answer_rate: of the questions with a response, those of which no repeat has an answer.
create or replace temp table observed as
select
    run, facet, is_negated, edition_id, point_id,
    sum(n_right_parts)::integer as gained, sum(n_parts)::integer as n, sum(n_independent) as n_most
from point_scores
group by grouping sets ((run, facet, edition_id, point_id, is_negated), (run, facet, edition_id, point_id))
having sum(n_parts) > 0;

create or replace temp table facet_baselines as
select edition_id, facet, is_negated, favg(random_accuracy(type, options)) as random_baseline
from questions
where split = 'test'
group by grouping sets ((edition_id, facet, is_negated), (edition_id, facet));

create or replace temp table mean_baselines as
select edition_id, null as facet, is_negated, favg(random_baseline) as random_baseline, count(*) as n_facets
from facet_baselines
group by edition_id, is_negated;

-- The mean of the facets is a mean of ratios, and not the ratio of two sums over points. A point is therefore observed
-- with its share of the questions of each facet (n) and of their right answers (gained). Where points lack questions
-- of some facets, gained also has mean − accuracy of the facet for each of its shares: its residual gained − mean · n
-- is then Σ (right − accuracy · asked) / asked in all over the facets, by which the point changes the mean
-- (Taylor linearisation). These terms add up to 0 for a point with all questions.
create or replace temp table weights as
select
    run, observed.facet, observed.is_negated,
    sum(n) as facet_n,
    sum(gained) / sum(n) as accuracy,
    favg(sum(gained) / sum(n)) over facets_asked as mean_accuracy,
    count(*) over facets_asked / sum(1 / sum(n_most)) over facets_asked as most_of_facet
from observed
inner join mean_baselines
    on observed.edition_id = mean_baselines.edition_id
    and observed.is_negated is not distinct from mean_baselines.is_negated
group by run, observed.facet, observed.is_negated
window facets_asked as (partition by run, observed.is_negated)
qualify count(*) over facets_asked = any_value(n_facets);

create or replace temp table observations as
with points as (
    select
        observed.run, observed.is_negated, observed.edition_id, observed.point_id,
        any_value(columns(['mean_accuracy', 'most_of_facet'])),
        sum(n / facet_n) as n,
        sum((gained + (mean_accuracy - accuracy) * n) / facet_n) as gained
    from observed
    inner join weights
        on observed.run = weights.run
        and observed.facet = weights.facet
        and observed.is_negated is not distinct from weights.is_negated
    group by observed.run, observed.is_negated, observed.edition_id, observed.point_id
),

-- n_most of the mean: to how many independent questions the weights of F facets amount, F² / Σ (1 / n_most of the
-- facet).
scored as (
    select hash(run, facet, is_negated) as key, edition_id, point_id, gained, n, n_most
    from observed
    union all
    select
        hash(run, null::varchar, is_negated) as key, edition_id, point_id, gained, n, most_of_facet * n as n_most
    from points
)

select key, 'accuracy' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster, gained, n, n_most
from scored
inner join storage.point_clusters using (edition_id, point_id);

-- The estimates of these observations are computed here (estimation.py).
create table facet_accuracy as
with baselines as (
    from facet_baselines
    union all by name
    from mean_baselines
),

counted as (
    select
        run, facet, is_negated,
        case when facet is not null then any_value(type) end as type,
        any_value(columns(['edition_id', 'setting', 'model_id', 'model', 'scoring_policy'])),
        sum(n_graded)::bigint as n_questions,
        share(n_right, n_graded) as share_right,
        share(n_right_offers_right, n_right_offers) as right_offer_accuracy,
        share(n_right - n_right_offers_right, n_graded - n_right_offers) as wrong_offer_accuracy,
        share(n_unanswered, n_asked - n_failed) as no_answer_rate,
        share(n_unfinished, n_asked - n_failed) as unfinished_reasoning_rate,
        share(n_refused, n_asked - n_failed) as refused_rate,
        sum(n_failed)::bigint as n_errors,
        share(n_failed, n_asked) as error_rate
    from point_scores
    group by grouping sets ((run, facet, is_negated), (run, facet), (run, is_negated), (run))
)

select
    counted.run, counted.edition_id, setting, model_id, model, scoring_policy, counted.facet, type, counted.is_negated,
    n_questions, coalesce(n_pairs, 0) as n_points,
    case when counted.facet is null then mean_accuracy else share end as accuracy,
    ci_low as accuracy_ci_low, ci_high as accuracy_ci_high,
    fixed_base_ci_low as accuracy_fixed_base_ci_low, fixed_base_ci_high as accuracy_fixed_base_ci_high,
    n_effective, random_baseline, share_right,
    case when type = 'RQ' then counted.right_offer_accuracy end as right_offer_accuracy,
    case when type = 'RQ' then counted.wrong_offer_accuracy end as wrong_offer_accuracy,
    no_answer_rate, unfinished_reasoning_rate, refused_rate, n_errors, error_rate
from counted
left join estimates
    on estimates.key = hash(counted.run, counted.facet, counted.is_negated)
left join (select distinct run, is_negated, mean_accuracy from weights) as means
    on counted.run = means.run and counted.is_negated is not distinct from means.is_negated
left join baselines
    on counted.edition_id = baselines.edition_id
    and counted.facet is not distinct from baselines.facet
    and counted.is_negated is not distinct from baselines.is_negated
order by
    counted.edition_id, setting, model_id, scoring_policy, place_type(type) nulls last, counted.is_negated nulls last

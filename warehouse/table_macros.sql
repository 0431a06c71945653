-- Queries that several views share, as table macros. They are created after pair_scores, which they read.

-- One row per key and measure: a share, or a paired difference, with its 95 % intervals.
-- `observations` names a query with one row per key, measure and test pair:
--   key, measure: of any type;
--   head_cluster, positive_tail_cluster, negative_tail_cluster: the pair's clusters (pair_clusters.sql);
--   gained, lost, n: of the n observations of the positive triplet, how many are right, with lost null; for a
--     difference, how many are right only in the first score (gained), and only in the second (lost);
--   negative_gained, negative_lost, negative_n: likewise of the negative triplet. All three are null if the
--     pair is observed as a whole (mastery); gained, lost and n are then those of the pair.
-- fixed_base_ci_low, fixed_base_ci_high: with the pair as the only cluster (macros.sql).
-- ci_low, ci_high: pairs that share a head or a tail are correlated too, so the variance is two-way
-- cluster-robust (Cameron, Gelbach and Miller 2011): V = V_head + V_tail − V_both, at least V_head, V_tail and
-- V_pair. A triplet has one tail. A pair as a whole has two, so its V_tail is that of dyads (Aronow, Samii and
-- Assenova 2015), in which pairs that share both tails count once. The residual of each head and tail is
-- divided by 1 − its share of the observations, as in the jackknife (CR3; Bell and McCaffrey 2002): with few
-- or very uneven clusters V is too small otherwise.
-- inflation: V / V_pair. n_effective: the effective number (Kish 1965) of heads or of tails, whichever is
-- smaller. n_rare: the same, but at most the effective number over which the right observations are spread,
-- or the wrong ones (for a difference: those that differ, or those that agree).
create macro estimate_shares(observations) as table
with observed as materialized (
    select
        key,
        measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        lost is not null as is_difference,
        negative_n is null as is_whole,
        gained + coalesce(negative_gained, 0) as pair_gained,
        coalesce(lost, 0) + coalesce(negative_lost, 0) as pair_lost,
        n + coalesce(negative_n, 0) as pair_size,
        gained - coalesce(lost, 0) as positive_net,
        gained + coalesce(lost, 0) as positive_changed,
        n as positive_size,
        coalesce(negative_gained, gained) - coalesce(negative_lost, lost, 0) as negative_net,
        coalesce(negative_gained, gained) + coalesce(negative_lost, lost, 0) as negative_changed,
        coalesce(negative_n, n) as negative_size
    from query_table(observations)
    where n + coalesce(negative_n, 0) > 0
),

summed as (
    select
        key,
        measure,
        bool_or(is_difference) as is_difference,
        any_value(is_whole) as is_whole,
        paired(pair_gained, pair_lost, pair_size) as paired,
        sum(pair_size)::double as total,
        cluster_spread(pair_gained - pair_lost, pair_size, 1)::double as pair_spread,
        sum((positive_size > 0)::integer + (negative_size > 0)::integer) as n_triplets,
        sum(positive_net * positive_net + negative_net * negative_net)::double as nets,
        sum(positive_net * positive_size + negative_net * negative_size)::double as products,
        sum(positive_size * positive_size + negative_size * negative_size)::double as sizes
    from observed
    group by key, measure
),

totals as materialized (
    select
        key,
        measure,
        is_difference,
        paired,
        total,
        pair_spread / total ** 2 * leave_out(1 / paired.gained.n_clusters) as pair_spread,
        case
            when is_whole then pair_spread / total ** 2 * leave_out(1 / paired.gained.n_clusters)
            else
                (nets - 2 * paired.difference * products + paired.difference ** 2 * sizes)
                * leave_out(1 / n_triplets)
        end as both_spread
    from summed
),

clusters as (
    select
        key,
        measure,
        'head' as kind,
        sum(pair_gained - pair_lost) as net,
        sum(pair_gained + pair_lost) as changed,
        sum(pair_size) as size
    from observed
    group by key, measure, head_cluster
    union all
    select key, measure, 'tail' as kind, sum(net) as net, sum(changed) as changed, sum(size) as size
    from (
        select
            key,
            measure,
            positive_tail_cluster as tail,
            positive_net as net,
            positive_changed as changed,
            positive_size as size
        from observed
        union all
        select
            key,
            measure,
            negative_tail_cluster as tail,
            negative_net as net,
            negative_changed as changed,
            negative_size as size
        from observed
    )
    group by key, measure, tail
    union all
    select
        key,
        measure,
        'both tails' as kind,
        sum(pair_gained - pair_lost) as net,
        0 as changed,
        sum(pair_size) as size
    from observed
    where is_whole
    group by
        key,
        measure,
        least(positive_tail_cluster, negative_tail_cluster),
        greatest(positive_tail_cluster, negative_tail_cluster)
),

kinds as (
    select
        key,
        measure,
        kind,
        sum((net - paired.difference * size) ** 2 * leave_out(size / total)) as spread,
        effective_number(size) as n_effective,
        least(
            effective_number(size), effective_number(changed), effective_number(size - changed)
        ) as n_rare
    from clusters
    inner join totals using (key, measure)
    group by key, measure, kind
),

spreads as (
    select
        key,
        measure,
        max(spread) filter (where kind = 'head') as head,
        max(spread) filter (where kind = 'tail')
        - coalesce(max(spread) filter (where kind = 'both tails'), 0) as tail,
        min(n_effective) filter (where kind <> 'both tails') as n_effective,
        min(n_rare) filter (where kind <> 'both tails') as n_rare
    from kinds
    group by key, measure
),

inflated as (
    select
        totals.key,
        totals.measure,
        totals.is_difference,
        totals.paired,
        totals.total,
        spreads.n_effective,
        spreads.n_rare,
        case
            when totals.pair_spread > 0 then
                greatest(head + tail - both_spread, head, tail, pair_spread) / pair_spread
            else 1.0
        end as inflation
    from totals
    inner join spreads using (key, measure)
),

sized as (
    select
        *,
        paired.gained.share as gained,
        paired.lost.share as lost,
        effective_n(paired.gained, inflation, n_rare) as n_gained,
        effective_n(paired.lost, inflation, n_rare) as n_lost,
        effective_n(paired.gained) as n_fixed_gained,
        effective_n(paired.lost) as n_fixed_lost,
        paired.correlation as r
    from inflated
)

select
    key,
    measure,
    total::bigint as n_observations,
    paired.gained.n_clusters::bigint as n_pairs,
    paired.difference as share,
    paired.se * sqrt(inflation) as se,
    case
        when is_difference then mover_low(gained, lost, n_gained, n_lost, r)
        else wilson_low(gained, n_gained)
    end as ci_low,
    case
        when is_difference then mover_high(gained, lost, n_gained, n_lost, r)
        else wilson_high(gained, n_gained)
    end as ci_high,
    case
        when is_difference then mover_low(gained, lost, n_fixed_gained, n_fixed_lost, r)
        else wilson_low(gained, n_fixed_gained)
    end as fixed_base_ci_low,
    case
        when is_difference then mover_high(gained, lost, n_fixed_gained, n_fixed_lost, r)
        else wilson_high(gained, n_fixed_gained)
    end as fixed_base_ci_high,
    n_effective,
    inflation,
    n_rare
from sized;

-- One row per run and part: the scores of the pairs, with their 95 % intervals (estimate_shares).
-- `scored` names a query with the columns of pair_scores, `part`, which must not be null, and k, the number of
-- samples of a complete triplet. measures: those that are needed; the columns of the others are null.
-- average_accuracy: share of the graded samples that are right. joint_accuracy: share of the complete triplets
-- with all k samples right. mastery: share of the complete pairs with all 2k right. consistency: share of the
-- complete triplets answered all right or all wrong.
-- n_pairs: pairs with a graded sample. left_out_rate: the share of the asked triplets that are not complete;
-- pair_left_out_rate: likewise of the pairs. Under `excluded`, joint_accuracy and mastery are null where theirs
-- is above 0.2: the units that are left are those that the model answered in full, and so its own selection. At
-- worst, those left out are all right or all wrong, which would move the measure by the rate itself.
-- mastery_above_shortcut: mastery minus that of the best shortcut (shortcut_scores.sql), paired by pair, over
-- the complete pairs. Where the shortcut is the coin, its expected mastery of one quarter is subtracted without
-- an error of its own.
-- true_rate: share of "true" among the answers given.
-- no_answer_rate: of the asked samples whose prompt did not fail, the share without an answer;
-- unfinished_reasoning_rate: without one because the tokens were used up while the model was thinking.
create macro measure_scores(scored, measures := ['average', 'joint', 'mastery', 'above shortcut']) as table
with counted as materialized (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        run,
        part,
        k,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        bit_count(asked_bits)::integer as n_asked,
        bit_count(failed_bits)::integer as n_errors,
        bit_count(unanswered_bits)::integer as n_no_answer,
        bit_count(unfinished_bits)::integer as n_unfinished,
        bit_count(answered_true_bits)::integer as n_answered_true,
        bit_count(positive_bits(graded_bits))::integer as n_positive,
        bit_count(negative_bits(graded_bits))::integer as n_negative,
        bit_count(positive_bits(correct_bits))::integer as n_positive_right,
        bit_count(negative_bits(correct_bits))::integer as n_negative_right,
        (n_positive = k)::integer as has_positive,
        (n_negative = k)::integer as has_negative,
        has_positive * (n_positive_right = k)::integer as positive_right,
        has_negative * (n_negative_right = k)::integer as negative_right,
        has_positive * (n_positive_right in (0, k))::integer
        + has_negative * (n_negative_right in (0, k))::integer as n_consistent,
        shortcut,
        shortcut_mastery
    from query_table(scored)
    where asked_bits > 0
),

summed as (
    select
        run,
        part,
        any_value(edition_id) as edition_id,
        any_value(model_id) as model_id,
        any_value(model) as model,
        any_value(method) as method,
        any_value(scoring_policy) as scoring_policy,
        any_value(repeat) as repeat,
        any_value(k) as k,
        count(*) as n_asked_pairs,
        sum(n_positive + n_negative)::bigint as n_samples,
        count(*) filter (where n_positive + n_negative > 0) as n_pairs,
        sum(has_positive + has_negative)::bigint as n_triplets,
        count(*) filter (where has_positive + has_negative > 0) as n_triplet_pairs,
        sum(has_positive * has_negative)::bigint as n_complete_pairs,
        share(n_consistent, has_positive + has_negative) as consistency,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        string_agg(distinct shortcut, ' + ' order by shortcut) as best_shortcut,
        share(has_positive * has_negative * shortcut_mastery, has_positive * has_negative)
            as best_shortcut_mastery,
        share(
            (has_positive * has_negative = 1 and shortcut_mastery = 0.25)::integer,
            has_positive * has_negative
        ) as tossed_rate,
        share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
        share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from counted
    group by run, part
),

observations as (
    select
        struct_pack(run, part) as key,
        'average' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        n_positive_right as gained,
        null::integer as lost,
        n_positive as n,
        n_negative_right as negative_gained,
        null::integer as negative_lost,
        n_negative as negative_n
    from counted
    where list_contains(measures, 'average')
    union all
    select
        struct_pack(run, part) as key,
        'joint' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        positive_right as gained,
        null as lost,
        has_positive as n,
        negative_right as negative_gained,
        null as negative_lost,
        has_negative as negative_n
    from counted
    where list_contains(measures, 'joint')
    union all
    select
        struct_pack(run, part) as key,
        'mastery' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        positive_right * negative_right as gained,
        null as lost,
        has_positive * has_negative as n,
        null as negative_gained,
        null as negative_lost,
        null as negative_n
    from counted
    where list_contains(measures, 'mastery')
    union all
    select
        struct_pack(run, part) as key,
        'above shortcut' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        (positive_right * negative_right > floor(shortcut_mastery))::integer as gained,
        case
            when shortcut_mastery <> 0.25 then
                (has_positive * has_negative * floor(shortcut_mastery) > positive_right * negative_right)::integer
        end as lost,
        has_positive * has_negative as n,
        null as negative_gained,
        null as negative_lost,
        null as negative_n
    from counted
    where list_contains(measures, 'above shortcut')
),

estimates as materialized (
    from estimate_shares('observations')
)

select
    summed.edition_id,
    summed.model_id,
    summed.model,
    summed.method,
    summed.scoring_policy,
    summed.repeat,
    summed.run,
    summed.part,
    summed.k,
    summed.n_samples,
    summed.n_pairs,
    average.share as average_accuracy,
    average.ci_low,
    average.ci_high,
    average.fixed_base_ci_low,
    average.fixed_base_ci_high,
    average.n_effective,
    average.inflation,
    average.n_rare,
    summed.n_triplets,
    summed.n_triplet_pairs,
    1 - summed.n_triplets / (2 * summed.n_asked_pairs) as left_out_rate,
    summed.scoring_policy <> 'excluded' or left_out_rate <= 0.2 as has_joint,
    case when has_joint then joint.share end as joint_accuracy,
    case when has_joint then joint.ci_low end as joint_ci_low,
    case when has_joint then joint.ci_high end as joint_ci_high,
    case when has_joint then joint.fixed_base_ci_low end as joint_fixed_base_ci_low,
    case when has_joint then joint.fixed_base_ci_high end as joint_fixed_base_ci_high,
    joint.n_effective as joint_n_effective,
    case when has_joint then summed.consistency end as consistency,
    summed.n_complete_pairs,
    1 - summed.n_complete_pairs / summed.n_asked_pairs as pair_left_out_rate,
    summed.scoring_policy <> 'excluded' or pair_left_out_rate <= 0.2 as has_mastery,
    case when has_mastery then mastery.share end as mastery,
    case when has_mastery then mastery.ci_low end as mastery_ci_low,
    case when has_mastery then mastery.ci_high end as mastery_ci_high,
    case when has_mastery then mastery.fixed_base_ci_low end as mastery_fixed_base_ci_low,
    case when has_mastery then mastery.fixed_base_ci_high end as mastery_fixed_base_ci_high,
    mastery.n_effective as mastery_n_effective,
    mastery.inflation as mastery_inflation,
    mastery.n_rare as mastery_n_rare,
    summed.best_shortcut,
    summed.best_shortcut_mastery,
    case when has_mastery then above.share - summed.tossed_rate / 4 end
        as mastery_above_shortcut,
    case when has_mastery then above.ci_low - summed.tossed_rate / 4 end
        as mastery_above_shortcut_ci_low,
    case when has_mastery then above.ci_high - summed.tossed_rate / 4 end
        as mastery_above_shortcut_ci_high,
    summed.no_answer_rate,
    summed.unfinished_reasoning_rate,
    summed.true_rate,
    summed.n_errors,
    summed.error_rate
from summed
left join estimates as average
    on average.key = struct_pack(summed.run, summed.part) and average.measure = 'average'
left join estimates as joint
    on joint.key = struct_pack(summed.run, summed.part) and joint.measure = 'joint'
left join estimates as mastery
    on mastery.key = struct_pack(summed.run, summed.part) and mastery.measure = 'mastery'
left join estimates as above
    on above.key = struct_pack(summed.run, summed.part) and above.measure = 'above shortcut';

-- The rows of pair_scores with only some of their samples, for measure_scores. `masks` names a query with one
-- row per part: part, bits (the samples that count) and k (how many a triplet has). Methods without
-- transformations (llmeval) have no rows.
create macro mask_scores(masks) as table
select
    pair_scores.* replace (
        asked_bits & bits as asked_bits,
        failed_bits & bits as failed_bits,
        unanswered_bits & bits as unanswered_bits,
        unfinished_bits & bits as unfinished_bits,
        answered_true_bits & bits as answered_true_bits,
        graded_bits & bits as graded_bits,
        correct_bits & bits as correct_bits,
        masks.k as k
    ),
    masks.part
from pair_scores
cross join query_table(masks) as masks
where pair_scores.method <> 'llmeval';

-- One row per edition, other edition, model, other model, method, scoring policy and repeat: two scores
-- on the same questions, paired. `matches` names a query that joins two rows of pair_scores per question:
-- the columns of the first under their own names, those of the second with the prefix `other_`.
-- n_matched: rows of `matches`. The averages count the samples graded on both sides, n_pairs the rows
-- with such a sample; mastery counts the rows that are complete on both sides (n_complete), and is null under
-- `excluded` where more than a fifth of the rows are not (measure_scores).
-- difference, difference_se and mastery_difference have the clusters of the first score (estimate_shares). The
-- variance of each score by itself is inflated as much as that of all its pairs.
create macro compare_scores(matches) as table
with counted as materialized (
    select
        edition_id,
        other_edition_id,
        model_id,
        other_model_id,
        method,
        scoring_policy,
        repeat,
        run,
        other_run,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        graded_bits & other_graded_bits as shared,
        correct_bits & shared as correct,
        other_correct_bits & shared as other_correct,
        is_complete and other_is_complete as is_shared,
        (is_shared and is_mastered)::integer as mastered,
        (is_shared and other_is_mastered)::integer as other_mastered,
        n_asked,
        n_errors,
        n_no_answer,
        other_n_asked,
        other_n_errors,
        other_n_no_answer
    from query_table(matches)
),

measured as (
    select
        run,
        other_run,
        any_value(edition_id) as edition_id,
        any_value(other_edition_id) as other_edition_id,
        any_value(model_id) as model_id,
        any_value(other_model_id) as other_model_id,
        any_value(method) as method,
        any_value(scoring_policy) as scoring_policy,
        any_value(repeat) as repeat,
        count(*) as n_matched,
        sum(bit_count(shared))::bigint as n_samples,
        n_clusters(bit_count(shared)::integer) as n_pairs,
        observe(bit_count(correct)::integer, bit_count(shared)::integer) as average,
        observe(bit_count(other_correct)::integer, bit_count(shared)::integer) as other_average,
        sum(is_shared::integer)::bigint as n_complete,
        any_value(scoring_policy) <> 'excluded' or n_complete >= 0.8 * n_matched as has_mastery,
        observe(mastered, is_shared::integer) as mastery,
        observe(other_mastered, is_shared::integer) as other_mastery,
        sum((mastered > other_mastered)::integer)::bigint as n_mastered_alone,
        sum((mastered < other_mastered)::integer)::bigint as n_other_mastered_alone,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate,
        share(other_n_no_answer, other_n_asked - other_n_errors) as other_no_answer_rate,
        sum(other_n_errors)::bigint as n_other_errors,
        share(other_n_errors, other_n_asked) as other_error_rate
    from counted
    group by run, other_run
),

observations as (
    select
        struct_pack(run, other_run) as key,
        'average' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        bit_count(positive_bits(correct & ~other_correct))::integer as gained,
        bit_count(positive_bits(other_correct & ~correct))::integer as lost,
        bit_count(positive_bits(shared))::integer as n,
        bit_count(negative_bits(correct & ~other_correct))::integer as negative_gained,
        bit_count(negative_bits(other_correct & ~correct))::integer as negative_lost,
        bit_count(negative_bits(shared))::integer as negative_n
    from counted
    union all
    select
        struct_pack(run, other_run) as key,
        'mastery' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        (mastered > other_mastered)::integer as gained,
        (mastered < other_mastered)::integer as lost,
        is_shared::integer as n,
        null as negative_gained,
        null as negative_lost,
        null as negative_n
    from counted
),

differences as materialized (
    from estimate_shares('observations')
),

own_pairs as (
    select *, 'all' as part
    from pair_scores
),

own as materialized (
    from measure_scores('own_pairs', measures := ['average', 'mastery'])
),

sized as (
    select
        measured.*,
        effective_n(measured.average, one.inflation, one.n_rare) as n_average,
        effective_n(measured.other_average, other.inflation, other.n_rare) as n_other_average,
        effective_n(measured.mastery, one.mastery_inflation, one.mastery_n_rare) as n_mastery,
        effective_n(measured.other_mastery, other.mastery_inflation, other.mastery_n_rare)
            as n_other_mastery
    from measured
    inner join own as one on measured.run = one.run
    inner join own as other on measured.other_run = other.run
)

select
    sized.edition_id,
    sized.other_edition_id,
    sized.model_id,
    models.name as model,
    sized.other_model_id,
    other_models.name as other_model,
    sized.method,
    sized.scoring_policy,
    sized.repeat,
    sized.n_matched,
    sized.n_samples,
    sized.n_pairs,
    sized.average.share as average_accuracy,
    wilson_low(sized.average.share, n_average) as ci_low,
    wilson_high(sized.average.share, n_average) as ci_high,
    sized.other_average.share as other_average_accuracy,
    wilson_low(sized.other_average.share, n_other_average) as other_ci_low,
    wilson_high(sized.other_average.share, n_other_average) as other_ci_high,
    average.share as difference,
    average.se as difference_se,
    average.ci_low as difference_ci_low,
    average.ci_high as difference_ci_high,
    average.fixed_base_ci_low as difference_fixed_base_ci_low,
    average.fixed_base_ci_high as difference_fixed_base_ci_high,
    average.n_effective,
    sized.n_complete,
    case when has_mastery then sized.mastery.share end as mastery,
    case when has_mastery then wilson_low(sized.mastery.share, n_mastery) end as mastery_ci_low,
    case when has_mastery then wilson_high(sized.mastery.share, n_mastery) end as mastery_ci_high,
    case when has_mastery then sized.other_mastery.share end as other_mastery,
    case when has_mastery then wilson_low(sized.other_mastery.share, n_other_mastery) end
        as other_mastery_ci_low,
    case when has_mastery then wilson_high(sized.other_mastery.share, n_other_mastery) end
        as other_mastery_ci_high,
    case when has_mastery then mastery.share end as mastery_difference,
    case when has_mastery then mastery.ci_low end as mastery_difference_ci_low,
    case when has_mastery then mastery.ci_high end as mastery_difference_ci_high,
    case when has_mastery then mastery.fixed_base_ci_low end as mastery_difference_fixed_base_ci_low,
    case when has_mastery then mastery.fixed_base_ci_high end as mastery_difference_fixed_base_ci_high,
    sized.n_mastered_alone,
    sized.n_other_mastered_alone,
    sized.no_answer_rate,
    sized.other_no_answer_rate,
    sized.n_errors,
    sized.n_other_errors,
    sized.error_rate,
    sized.other_error_rate
from sized
inner join models on sized.model_id = models.model_id
inner join models as other_models on sized.other_model_id = other_models.model_id
left join differences as average
    on average.key = struct_pack(sized.run, sized.other_run) and average.measure = 'average'
left join differences as mastery
    on mastery.key = struct_pack(sized.run, sized.other_run) and mastery.measure = 'mastery';

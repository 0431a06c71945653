-- Grain: one row per two fresh editions of a schedule, and the row of anchor_drift of the same periods.
-- Why a score moved between two periods: has the served model changed, or had it learnt old texts? The fresh editions
-- are those of the same base with the names of the periods as labels, and with the pool, the rephraser, the negatives
-- and the methods of the anchors. fresh_fall: how far the average accuracy fell from the earlier edition to the later
-- one, paired on the heads that both test (as difference in edition_drift). anchor_fall: likewise on anchors, whose
-- texts are the same in both periods. excess_fall = fresh_fall − anchor_fall, the difference of differences; its 95 %
-- interval combines those of the two falls (MOVER: Zou and Donner 2008), as if they were independent.
-- has_changed: the answers to anchors changed more than noise explains, at the 5 % level (anchor_drift).
-- has_leaked: the whole interval of excess_fall is above 0: the score fell on fresh texts and not as far on anchors,
-- so texts of the earlier period helped the model. If nothing leaked, this happens in at most 2.5 % of the cases.
-- explanation: `model changed`, `texts had leaked`, `both`, or `neither is supported`. The last one does not prove that
-- nothing changed or leaked.
create or replace view drift_explanations as
with made as (
    select edition_id, label, struct_pack(kb, pool, rephraser, negatives, methods) as made_with from editions
),

fresh as (
    select * from differences where comparison = 'editions' and measure = 'average_accuracy'
)

select
    fresh.edition_id, fresh.other_edition_id, anchors.edition_id as anchor_edition_id,
    fresh.model_id, fresh.model, fresh.method, fresh.scoring_policy, fresh.repeat,
    anchors.period, anchors.other_period, anchors.is_successive,
    fresh.n_matched as n_heads,
    anchors.n_pairs as n_anchor_pairs,
    fresh.difference as fresh_fall,
    fresh.difference_ci_low as fresh_fall_ci_low,
    fresh.difference_ci_high as fresh_fall_ci_high,
    anchors.difference as anchor_fall,
    anchors.difference_ci_low as anchor_fall_ci_low,
    anchors.difference_ci_high as anchor_fall_ci_high,
    fresh_fall - anchor_fall as excess_fall,
    excess_fall - sqrt((fresh_fall - fresh_fall_ci_low) ** 2 + (anchor_fall_ci_high - anchor_fall) ** 2)
        as excess_fall_ci_low,
    excess_fall + sqrt((fresh_fall_ci_high - fresh_fall) ** 2 + (anchor_fall - anchor_fall_ci_low) ** 2)
        as excess_fall_ci_high,
    anchors.change_rate, anchors.change_rate_ci_low, anchors.change_rate_ci_high,
    anchors.change_p, anchors.has_changed,
    excess_fall_ci_low > 0 as has_leaked,
    case
        when has_changed and has_leaked then 'both'
        when has_changed then 'model changed'
        when has_leaked then 'texts had leaked'
        when has_changed is not null and has_leaked is not null then 'neither is supported'
    end as explanation
from fresh
inner join made as one on fresh.edition_id = one.edition_id
inner join made as other on fresh.other_edition_id = other.edition_id and one.made_with = other.made_with
inner join anchor_drift as anchors
    on one.label = anchors.period
    and other.label = anchors.other_period
    and fresh.model_id = anchors.model_id
    and fresh.method = anchors.method
    and fresh.scoring_policy = anchors.scoring_policy
    and fresh.repeat = anchors.repeat
inner join made as source on anchors.edition_id = source.edition_id and one.made_with = source.made_with
order by
    fresh.edition_id, fresh.other_edition_id, anchor_edition_id, fresh.model, fresh.model_id, fresh.method,
    fresh.scoring_policy, fresh.repeat

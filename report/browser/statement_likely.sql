-- One row per pair: for each of its samples, the tenth of the probability of True that the model gives it, 0 to 9 as
-- in the view calibration_bins, or a dash.
with weighed as (
    select
        item_id,
        least(floor(1 / (1 + exp(least(logprob_false - logprob_true, 700))) * 10), 9)::tinyint as bin
    from answers
    where
        kind = 'samples'
        and edition_id = $edition_id
        and model_id = $model_id
        and repeat = $repeat
        and isfinite(logprob_true)
        and isfinite(logprob_false)
    qualify scoring_policy = min(scoring_policy) over ()
)

select to_json(string_agg(coalesce(weighed.bin::varchar, '-'), '' order by items.place))::varchar
from browsed_items as items
left join weighed using (item_id)
group by items.position
order by items.position

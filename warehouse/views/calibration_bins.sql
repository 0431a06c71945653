-- Grain: one row per edition, model, method, repeat and tenth of p_true that holds a sample.
-- The reliability diagram behind probability_calibration: of the n_samples whose p_true lies from
-- p_low to p_high, mean_p_true is what the model says, true_rate how many are true.
create or replace view calibration_bins as
select
    calibration_sums.edition_id,
    calibration_sums.model_id,
    models.name as model,
    calibration_sums.method,
    calibration_sums.repeat,
    bin / 10 as p_low,
    (bin + 1) / 10 as p_high,
    n_samples,
    sum_p_true / n_samples as mean_p_true,
    n_true / n_samples as true_rate
from calibration_sums
inner join models using (model_id)
order by edition_id, model, model_id, method, repeat, p_low

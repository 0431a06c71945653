-- Grain: one row per edition, model, method, repeat and tenth of p_true that contains a sample.
-- The reliability diagram of probability_calibration. A bin contains the n_samples with p_true from p_low to
-- p_high; mean_p_true is what the model says on average, true_rate is the share of true samples.
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

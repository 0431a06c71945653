-- One row per two runs of point_scores that can be compared, and point that both were asked about: two models in
-- one setting, or two settings of one model, on one edition under one scoring policy. The first run is that whose
-- setting, then whose model id, sorts first.
-- match_number: a number of the two runs. shared_bits: the questions that are graded for both.
create macro match_points() as table
with runs as (
    select distinct run, edition_id, setting, model_id, scoring_policy
    from point_scores
),

compared as (
    select
        one.run,
        other.run as other_run,
        row_number() over (
            order by edition_id, one.setting, one.model_id, other.setting, other.model_id, scoring_policy
        ) as match_number
    from runs as one
    inner join runs as other using (edition_id, scoring_policy)
    where
        (one.setting, one.model_id) < (other.setting, other.model_id)
        and (one.setting = other.setting or one.model_id = other.model_id)
)

select
    compared.match_number,
    one.run,
    other.run as other_run,
    one.edition_id,
    one.point_id,
    one.head_cluster, one.positive_tail_cluster, one.negative_tail_cluster,
    one.n_offered_options,
    one.asked_bits,
    other.asked_bits as other_asked_bits,
    one.failed_bits,
    other.failed_bits as other_failed_bits,
    one.unanswered_bits,
    other.unanswered_bits as other_unanswered_bits,
    one.graded_bits & other.graded_bits as shared_bits,
    one.correct_bits & shared_bits as correct_bits,
    other.correct_bits & shared_bits as other_correct_bits
from compared
inner join point_scores as one on compared.run = one.run
inner join point_scores as other on compared.other_run = other.run and one.point_id = other.point_id;

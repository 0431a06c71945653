-- Grain: one row per edition, model, method, scoring policy and repeat, where a label is disputed (disputed_facts).
-- The scores of the leaderboard beside those without the pairs that have a disputed triplet, true or false.
-- undisputed_accuracy_ci_low, …: the intervals for new facts, as in the leaderboard. The models' own answers decide which pairs
-- are left out, so the scores of the models that contradict a label rise even where the label is right. The two scores
-- show how much depends on these labels; the second one is no better score until a person has judged them.
create or replace view undisputed_leaderboard as
with disputed_pairs as (
    select distinct edition_id, method, scoring_policy, pair_id
    from disputed_facts
),

undisputed_pairs as (
    select *, 'all' as part
    from pair_scores
    semi join disputed_pairs using (edition_id, method, scoring_policy)
    anti join disputed_pairs using (edition_id, method, scoring_policy, pair_id)
),

undisputed as (
    from measure_scores('undisputed_pairs', measures := ['average', 'mastery'])
)

select
    leaderboard.edition_id, leaderboard.method, leaderboard.scoring_policy, leaderboard.repeat,
    leaderboard.rank,
    rank() over (
        partition by
            leaderboard.edition_id, leaderboard.method, leaderboard.scoring_policy, leaderboard.repeat
        order by undisputed.mastery desc nulls last, undisputed.average_accuracy desc nulls last
    ) as undisputed_rank,
    leaderboard.model_id,
    leaderboard.model,
    leaderboard.average_accuracy,
    undisputed.average_accuracy as undisputed_accuracy,
    undisputed.average_accuracy_ci_low as undisputed_accuracy_ci_low,
    undisputed.average_accuracy_ci_high as undisputed_accuracy_ci_high,
    leaderboard.mastery,
    undisputed.mastery as undisputed_mastery,
    undisputed.mastery_ci_low as undisputed_mastery_ci_low,
    undisputed.mastery_ci_high as undisputed_mastery_ci_high,
    leaderboard.n_pairs,
    leaderboard.n_pairs - coalesce(undisputed.n_pairs, 0) as n_disputed_pairs
from leaderboard
semi join disputed_pairs using (edition_id, method, scoring_policy)
left join undisputed using (edition_id, model_id, method, scoring_policy, repeat)
order by edition_id, method, scoring_policy, repeat, rank, leaderboard.model, model_id

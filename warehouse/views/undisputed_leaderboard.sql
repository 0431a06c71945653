-- Grain: one row per edition, model, method, scoring policy and repeat, where a label is disputed (disputed_facts).
-- The scores of the leaderboard beside those without the pairs that have a disputed triplet, true or false. The models'
-- own answers decide which pairs are left out, so the scores of the models that contradict a label rise even where the
-- label is right. The two scores show how much depends on these labels; the second one is no better score until a person
-- has judged them, and has no interval.
create or replace view undisputed_leaderboard as
with disputed_pairs as (
    select distinct edition_id, method, scoring_policy, pair_id
    from disputed_facts
),

undisputed as (
    select
        edition_id, method, scoring_policy, repeat, model_id,
        sum(n_positive_right + n_negative_right) / nullif(sum(n_positive + n_negative), 0) as accuracy,
        avg(is_mastered::integer) filter (is_complete) as mastery,
        count(*) filter (n_positive + n_negative > 0) as n_pairs
    from pair_scores
    anti join disputed_pairs using (edition_id, method, scoring_policy, pair_id)
    group by edition_id, method, scoring_policy, repeat, model_id
)

select
    leaderboard.edition_id, leaderboard.method, leaderboard.scoring_policy, leaderboard.repeat,
    leaderboard.rank,
    rank() over (
        partition by
            leaderboard.edition_id, leaderboard.method, leaderboard.scoring_policy, leaderboard.repeat
        order by undisputed.mastery desc nulls last, undisputed.accuracy desc nulls last
    ) as undisputed_rank,
    leaderboard.model_id,
    leaderboard.model,
    leaderboard.average_accuracy,
    case when leaderboard.average_accuracy is not null then undisputed.accuracy end as undisputed_accuracy,
    leaderboard.mastery,
    case when leaderboard.mastery is not null then undisputed.mastery end as undisputed_mastery,
    leaderboard.n_pairs,
    leaderboard.n_pairs - coalesce(undisputed.n_pairs, 0) as n_disputed_pairs
from leaderboard
semi join disputed_pairs using (edition_id, method, scoring_policy)
left join undisputed using (edition_id, model_id, method, scoring_policy, repeat)
order by edition_id, method, scoring_policy, repeat, rank, leaderboard.model, model_id

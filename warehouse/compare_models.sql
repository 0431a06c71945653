-- One row per relation (null: all of them) and measure: two models on the same pairs of an edition (compare_parts).
-- difference = the score of the first model − that of the second. No row if they have no pair in common under
-- this method, scoring policy and repeat, or if one of them has no scores (not_evaluated).
create macro compare_models(
    edition, first_model, second_model, of_method := 'pretexeval', policy := 'strict', of_repeat := 0
) as table
with matches as (
    select one.*, columns(other.*) as "other_\0"
    from pair_scores as one
    inner join pair_scores as other using (edition_id, method, scoring_policy, repeat, pair_id)
    where
        edition_id = edition
        and one.model_id = first_model
        and other.model_id = second_model
        and method = of_method
        and scoring_policy = policy
        and repeat = of_repeat
)

select * exclude (run, has_score)
from compare_parts('matches')
where has_score;

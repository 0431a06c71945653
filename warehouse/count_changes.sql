-- One row per item and relation (null: all of them): how many facts, negatives, texts and demonstrations of two
-- editions are the same (list_changes).
-- n_items = n_same + n_gone: those of the first edition; n_other_items = n_same + n_new: those of the second.
-- n_replaced: those of n_gone with another one in their place, which is in n_new.
create macro count_changes(first_edition, second_edition) as table
select
    item,
    relation,
    count(*) filter (change <> 'new') as n_items,
    count(*) filter (change <> 'gone') as n_other_items,
    count(*) filter (change = 'same') as n_same,
    count(*) filter (change in ('gone', 'replaced')) as n_gone,
    count(*) filter (change in ('new', 'replaced')) as n_new,
    count(*) filter (change = 'replaced') as n_replaced
from list_changes(first_edition, second_edition)
group by grouping sets ((item, relation), (item))
order by
    list_position(['fact', 'negative', 'text', 'demonstration'], item),
    relation nulls first;

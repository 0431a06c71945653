-- One row per set of transformations, of which bit k is the transformation at position k: their names in order.
create macro name_transformations() as table
select
    sets.range as transformation_set,
    coalesce(
        list(transformations.transformation order by transformations.position)
            filter (where transformations.transformation is not null),
        []
    ) as names
from range(0, 256) as sets
left join transformations on ((sets.range >> transformations.position) & 1) = 1
group by sets.range;

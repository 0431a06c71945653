-- Number the parts of prompts that have no number yet.
insert into browsed_parts
with new_parts as (
    select before as part, how from browsed_split where before is not null
    union
    select after, 0 from browsed_split where after is not null
    except
    select part, how from browsed_parts
)

select (select count(*) from browsed_parts) + row_number() over (order by part, how) - 1, part, how
from new_parts

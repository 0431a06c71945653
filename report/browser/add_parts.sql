-- Number the parts of prompts that have no number yet.
create or replace temp table browsed_befores as
select distinct prefix_number, before, how, prefix || before as part
from browsed_split
inner join storage.prompt_prefixes using (prefix_number);

insert into browsed_parts
with new_parts as (
    select part, how from browsed_befores
    union
    select after, 0 from browsed_split where after is not null
    except
    select part, how from browsed_parts
)

select (select count(*) from browsed_parts) + row_number() over (order by part, how) - 1, part, how
from new_parts;

-- Names long texts by their numbers, so that each reply need not be joined with them.
create or replace temp table browsed_numbers as
select befores.prefix_number, befores.before, befores.how, parts.number
from browsed_befores as befores
inner join browsed_parts as parts using (part, how)

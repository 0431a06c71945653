copy (select 1) to '{file}' (use_tmp_file false)
with x as (copy (select 1) to '{file}' (use_tmp_file false)) select 1
select 1; copy (select 1) to '{file}' (use_tmp_file false)
attach '{other}' as other
attach '{file}' as twin (read_write)
from '{other}'
from read_blob('{file}')
select getenv('HOME')
from rows
install httpfs
create table t as select 1
set enable_external_access = true
set profiling_output = '{new}'
call enable_logging(storage = 'file', storage_path = '{new}')

-- The tables in which the warehouse keeps what it loads, and that nobody needs to query. They are in a schema of their own.

create schema storage;

-- The rows of Parquet files with the path of each one, of which no column comes from a folder `name=value` above them.
create macro storage.read_files(files) as table
from read_parquet(files, hive_partitioning = false, filename = true);

-- The sources of a publication. root_fingerprint: of all files under the root (sources.py).
-- code_fingerprint: of the code that wrote it (publishing.py). changed_at_ns: the time of change that the publisher gave
-- to the file, in nanoseconds. objects: its tables, views and macros. problems, warnings: why parts were left out, and
-- what else was said about it.
create table storage.publication (
    root_fingerprint varchar not null, problems varchar[] not null, warnings varchar[] not null,
    code_fingerprint varchar not null, changed_at_ns bigint not null, objects varchar[] not null
);

-- Models that are asked the same prompt share its text. Thousands of prompts begin with the same demonstrations: this
-- compression takes 0.4 s and 5 MB for 137,000 prompts, and the one that DuckDB chooses takes 1.0 s and 56 MB.
create table storage.prompts (prompt_hash ubigint not null, prompt varchar not null using compression zstd);
create table storage.responses (
    prompt_key varchar not null, model_id varchar not null, repeat smallint not null, prompt_hash ubigint not null,
    response varchar, status varchar not null, error varchar, finish_reason varchar,
    n_prompt_tokens integer, n_completion_tokens integer, logprob_true double, logprob_false double,
    reasoning varchar, served varchar
);

-- Responses are shared by all editions.
create view responses as
select prompt_key, model_id, repeat, prompt, stored.* exclude (prompt_key, model_id, repeat, prompt_hash)
from storage.responses as stored
inner join storage.prompts using (prompt_hash);

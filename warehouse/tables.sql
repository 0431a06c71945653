-- The loaded tables of the warehouse, except those that have the columns of a stage (catalogue.py).
-- schemas/meanings.toml says what their rows and columns mean, and which columns are keys: (edition_id, id), because
-- triplet and sample ids do not contain the edition. Keys are comments and no constraints: each stage is checked when
-- it is written, and a primary key of 12 models × 261,000 answers takes 9 s more and makes a file of 58 MB one of 385 MB.

-- A withdrawn edition has its texts in all tables, and no evaluation.
-- wrong_texts is null where no gate checked texts of a language model.
create table editions (
    edition_id varchar not null, kb varchar, label varchar, seed bigint,
    negatives varchar, pool varchar, rephraser varchar, methods varchar[], n_drawn_pairs bigint,
    configuration json, wrong_texts json, is_anchors boolean not null, period_start date,
    withdrawn_at timestamp, withdrawal_reason varchar
);

create table label_risks (
    edition_id varchar not null, relation varchar not null, n_pairs bigint not null, n_left_out bigint not null,
    shape varchar, tail_rate double not null, guessable_rate double not null,
    n_tried bigint not null, n_wrong bigint not null, missing_share double not null,
    wrong_rate double, wrong_rate_ci_low double, wrong_rate_ci_high double, is_balanced boolean not null,
    n_base_heads bigint, n_base_facts bigint, n_testable_facts bigint
);

create table models (
    model_id varchar not null, name varchar not null, engine varchar, identity json,
    known_heads struct(relation varchar, head varchar, wordings varchar)[], taught_base json, training_cutoff date,
    price_input double, price_output double
);

-- The scores of an edition are those of kind `samples` or `questions`; knows_guesses_errs has those of `unsure`.
-- Includes the reply, from responses. The loader looks it up once, so that prediction_details need not join millions of
-- prompts with their responses (0.1 s instead of 2.4 s for its first rows, on 12 models × 272,000 samples).
-- The log-probabilities are null if the model thought first, because they are those of the first token.
-- If `ask` of [scoring] is `enough`, a sample that was not needed has no row (docs/statistics.md).
create table answers (
    edition_id varchar not null, kind varchar not null, setting varchar, period varchar, model_id varchar not null,
    item_id varchar not null, repeat smallint not null, scoring_policy varchar not null,
    prompt_key varchar not null, n_demonstrations_dropped smallint, weight smallint,
    answer varchar, rule varchar, prediction varchar, is_correct boolean,
    n_answers smallint not null, n_agreeing smallint not null,
    is_failed boolean not null, is_unfinished_reasoning boolean not null, is_refused boolean not null,
    response varchar, reasoning varchar, error varchar, logprob_true double, logprob_false double
);

-- Evaluations with too many failed prompts (is_evaluated) have no rows in the tables of scores.
-- n_prompts and the tokens: every distinct prompt and repeat counts once, no matter how many samples share it and which
-- edition asked it first.
create table runs (
    edition_id varchar not null, setting varchar, period varchar, model_id varchar not null, period_start date,
    scoring_policies varchar[], n_items bigint, n_not_needed bigint, n_repeats smallint, n_asked bigint, n_reused bigint,
    n_predictions bigint not null, n_errors bigint not null, commonest_error varchar,
    max_error_rate double not null, is_evaluated boolean not null,
    finished_at timestamp, duration_s double, served varchar[], remarks varchar[],
    n_prompts bigint not null, n_unknown bigint not null, n_prompt_tokens bigint, n_completion_tokens bigint,
    price_input double, price_output double,
    prompt_style varchar, sampling json, n_demonstrations tinyint
);

create table failures (
    edition_id varchar not null, setting varchar, model varchar not null, model_id varchar,
    reason varchar not null, failed_at timestamp
);

-- Great Expectations validates a stage when it is written. A broken expectation stops the run, unless it is a warning.
-- model_id is null for the stages of an edition and for what is measured on it.
create table checks (
    edition_id varchar not null, model_id varchar, model varchar, setting varchar, stage varchar not null,
    expectation varchar not null, checked_columns varchar, requirement varchar not null,
    is_passed boolean not null, n_rows bigint not null, n_unexpected bigint not null, checked_at timestamp
);

-- The loaded tables of the warehouse, except those that have the columns of a stage (catalogue.py). Keys are
-- (edition_id, id), because triplet and sample ids do not contain the edition. There are no primary keys: each stage is
-- checked when it is written, and an index on millions of hashes would take more time and space than everything else.

-- negatives, pool, rephraser and methods are null for an edition without triplets. wrong_texts is what the manifest
-- says of the texts that the gate accepted, or the record of a review; null where no gate checked texts of a language
-- model. naturalness is how natural a small language model finds the wordings of the pool (`prototypes/naturalness.py`);
-- null where none was measured.
create table editions (
    edition_id varchar not null,
    kb varchar,
    label varchar,
    seed bigint,
    negatives varchar,
    pool varchar,
    rephraser varchar,
    methods varchar[],
    n_pairs bigint,
    configuration json,
    wrong_texts json,
    naturalness json,
    is_anchors boolean not null,
    period_start date
);

-- One row per relation of an edition: how its labels can be guessed, and how many false twins are true; none for anchors.
create table label_risks (
    edition_id varchar not null,
    relation varchar not null,
    n_pairs bigint not null,
    n_left_out bigint not null,
    tail_rate double not null,
    guessable_rate double not null,
    n_tried bigint not null,
    n_wrong bigint not null,
    wrong_rate double,
    is_balanced boolean not null
);

-- Variants of both splits, with the statements that put them into words (the stages variants and statements).
create table variants (
    edition_id varchar not null,
    variant_id varchar not null,
    triplet_id varchar not null,
    pair_id varchar not null,
    relation varchar not null,
    split varchar not null,
    transformation varchar not null,
    label boolean not null,
    predicate varchar not null,
    prototype_id varchar,
    statement varchar
);

-- What the judge (role judge), the rephraser about the panel (role panel) and the writer of llmeval (role llmeval) were
-- asked for an edition, with the prices in the configuration that published it. The other prompts of the rephraser are
-- in attempts.
create table writer_tokens (
    edition_id varchar not null,
    role varchar not null,
    model_id varchar not null,
    n_prompts bigint not null,
    n_unknown bigint not null,
    n_prompt_tokens bigint not null,
    n_completion_tokens bigint not null,
    price_input double,
    price_output double,
    price_currency varchar
);

-- known_heads: what a reference model was taught; null for models whose knowledge is unknown. taught_base: the
-- name of the base of these heads, and the checksum of each of its relations.
create table models (
    model_id varchar not null,
    name varchar not null,
    engine varchar,
    identity json,
    known_heads struct(relation varchar, head varchar, wordings varchar)[],
    taught_base json,
    price_input double,
    price_output double,
    price_currency varchar
);

-- error: why the prompt failed; is_correct is then null under every policy.
-- Includes the reply to the sample, from responses. The loader looks it up once, so that prediction_details
-- need not join millions of prompts with their responses (0.1 s instead of 2.4 s for its first rows, on 12
-- models × 272,000 samples). reasoning: what the model thought, from the endpoint or from the marks in the
-- response; the log-probabilities are null if there is any, because they are those of the first token.
create table predictions (
    edition_id varchar not null,
    model_id varchar not null,
    sample_id varchar not null,
    repeat smallint not null,
    scoring_policy varchar not null,
    prompt_key varchar not null,
    n_demonstrations_dropped smallint,
    prediction boolean,
    is_correct boolean,
    is_unfinished_reasoning boolean not null,
    response varchar,
    reasoning varchar,
    error varchar,
    logprob_true double,
    logprob_false double
);

-- One row per evaluation of an edition by a model. setting: how the questions were asked; null for an evaluation of
-- the samples. period: of the schedule in which anchors were asked, with its first day in period_start; null for other
-- evaluations. n_items: the samples or questions, each of which is asked n_repeats times. finished_at is UTC.
-- max_error_rate: the share of failed items above which the model counts as not evaluated (error_counts.sql). served:
-- everything that gave answers to it, as the endpoint or the engine describes itself; empty for answers that were
-- stored without it.
create table runs (
    edition_id varchar not null,
    setting varchar,
    period varchar,
    model_id varchar not null,
    period_start date,
    scoring_policies varchar[],
    n_items bigint,
    n_repeats smallint,
    n_asked bigint,
    n_reused bigint,
    n_errors bigint,
    finished_at timestamp,
    duration_s double,
    max_error_rate double not null,
    served varchar[],
    price_input double,
    price_output double,
    price_currency varchar,
    prompt_style varchar,
    sampling json,
    n_demonstrations tinyint
);

-- The answers to anchors, with the columns of predictions and the period. They are not among the predictions, so that
-- no score of an edition contains them.
create table anchor_predictions as
select
    null::varchar as period,
    *
from predictions;

-- One row per edition, setting and name of a model whose last evaluation ended with an error. failed_at is UTC.
-- setting: how the questions were asked; null for an evaluation of the samples. model_id is null if the model
-- could not be identified.
create table failures (
    edition_id varchar not null,
    setting varchar,
    model varchar not null,
    model_id varchar,
    reason varchar not null,
    failed_at timestamp
);

-- The eight transformations, in the order in which they are shown.
create table transformations (
    transformation varchar not null,
    position tinyint not null,
    is_inverted boolean not null,
    is_instantiated boolean not null,
    is_negated boolean not null
);

-- What every repeat of a question answered: the answer that was read, the rule that found it, and the response.
-- error: why the prompt has no response. reasoning: as in predictions.
create table question_answers (
    edition_id varchar not null,
    setting varchar not null,
    model_id varchar not null,
    question_id varchar not null,
    repeat smallint not null,
    prompt_key varchar not null,
    answer varchar,
    rule varchar,
    error varchar,
    is_unfinished_reasoning boolean not null,
    n_demonstrations_dropped smallint,
    response varchar,
    reasoning varchar
);

-- The answer that most repeats gave (prediction), n_agreeing of the n_answers repeats that have one.
-- error: why no repeat has a response; is_correct is then null under every policy.
create table question_predictions (
    edition_id varchar not null,
    setting varchar not null,
    model_id varchar not null,
    question_id varchar not null,
    scoring_policy varchar not null,
    prediction varchar,
    is_correct boolean,
    n_answers smallint not null,
    n_agreeing smallint not null,
    error varchar
);

-- The facets in the order of their types of question. place: the order in which the paper adds them up to
-- mastered points.
create table facets (
    facet varchar not null,
    type varchar not null,
    position tinyint not null,
    place tinyint not null
);

-- The loaded tables of questions and of the answers to them. Keys are (edition_id, id), as in tables.sql.

-- Questions of both splits, test and demonstration. An edition may have questions without samples, and samples
-- without questions.
create table questions (
    edition_id varchar not null,
    question_id varchar not null,
    point_id varchar not null,
    pair_id varchar,
    relation varchar not null,
    head varchar,
    split varchar not null,
    facet varchar not null,
    type varchar not null,
    is_negated boolean not null,
    text varchar not null,
    options varchar[] not null,
    answer varchar not null,
    offered varchar,
    source varchar
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

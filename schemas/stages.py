"""The stages and their columns, that is, the contents of every Parquet file of the pipeline.

The Arrow schema, the expectations at the end of a stage and the warehouse tables all follow from this one
declaration.
"""

from typing import get_args

import pyarrow as pa

from schemas import transformations
from schemas.choices import Method
from schemas.columns import (
    ITEM_ID,
    LABEL,
    MODEL_ID,
    PAIR_ID,
    PROMPT_KEY,
    RELATION,
    REPEAT,
    SAMPLE_ID,
    SCORING_POLICY,
    SPLIT,
    TRANSFORMATION,
    TRIPLET_ID,
    VARIANT_ID,
    Column,
    Stage,
    define_id,
)
from schemas.question_stages import QUESTIONS, READ_PATTERN

N_DEMONSTRATIONS = 5
"""Pairs of a relation that are held out to demonstrate the task."""
# Demonstrations are drawn without the edition's seed: with it, every edition would change every prompt.
DEMONSTRATION_SALT = "demonstrations"
METHODS: tuple[str, ...] = get_args(Method)
# Methods that make one sample of a triplet; the others make as many as there are transformations.
SINGLE_METHODS = ("direct", "origin")
# In the place of a reason, because no gate checked the text of an edition whose gate is off.
GATE_OFF = "gate off"
MAX_WRONG_RATE = 0.03
"""With a larger share of wrong texts among those that it accepts from a writer, the gate limits new words."""

TRIPLETS = Stage(
    "triplets",
    "a triplet of the edition",
    ("triplet_id",),
    (
        TRIPLET_ID,
        PAIR_ID,
        RELATION,
        Column("head", pa.string(), "name of the head entity"),
        Column("tail", pa.string(), "name of the tail entity"),
        Column("head_id", pa.string(), "id of the head, where the base has ids", is_nullable=True),
        Column("tail_id", pa.string(), "id of the tail, where the base has ids", is_nullable=True),
        Column("is_positive", pa.bool_(), "whether the knowledge base holds the triplet"),
        SPLIT,
        Column(
            "is_asserted",
            pa.bool_(),
            "true where the knowledge base asserts that the triplet is false, else null",
            is_nullable=True,
        ),
        Column(
            "first_release",
            pa.string(),
            "oldest given release that holds the triplet, or new; null if it is false or none was given",
            is_nullable=True,
        ),
        Column(
            "head_frequency",
            pa.int32(),
            "how many facts of the relation the knowledge base lists of the head",
        ),
        Column(
            "tail_frequency", pa.int32(), "how many heads of the relation have the tail in the knowledge base"
        ),
        Column(
            "tail_commonness",
            pa.float64(),
            "share of the facts of the relation in the base, one for each head, whose tails are rarer",
        ),
        Column(
            "likelihood",
            pa.float64(),
            "chance that the triplet is true, as the other facts of the base tell it",
            is_nullable=True,
        ),
        Column(
            "doubt",
            pa.float64(),
            "estimated chance that the label is wrong, where something speaks against it; else null",
            is_nullable=True,
        ),
        Column(
            "doubt_reason",
            pa.string(),
            "what speaks against the label; null where nothing does",
            is_nullable=True,
        ),
    ),
)
VARIANTS = Stage(
    "variants",
    "a triplet under a transformation",
    ("variant_id",),
    (
        VARIANT_ID,
        TRIPLET_ID,
        PAIR_ID,
        RELATION,
        SPLIT,
        TRANSFORMATION,
        Column("predicate", pa.string(), "the predicate expression, as text; ◇ is only possible"),
        LABEL,
    ),
)
STATEMENTS = Stage(
    "statements",
    "a variant in words",
    ("variant_id",),
    (
        VARIANT_ID,
        TRIPLET_ID,
        PAIR_ID,
        RELATION,
        SPLIT,
        TRANSFORMATION,
        LABEL,
        define_id("prototype_id", "hash of relation, transformation and template"),
        Column("statement", pa.string(), "the prototype with its slots filled"),
    ),
)
SAMPLES = Stage(
    "samples",
    "a text to verify",
    ("sample_id",),
    (
        SAMPLE_ID,
        Column("method", pa.string(), "how the sample was made", values=METHODS),
        define_id("variant_id", "the variant it words; null for llmeval", is_nullable=True),
        TRIPLET_ID,
        PAIR_ID,
        RELATION,
        SPLIT,
        Column(
            "transformation",
            pa.string(),
            "transformation of the variant; null for llmeval",
            is_nullable=True,
            values=transformations.NAMES,
        ),
        Column("sample_index", pa.int8(), "position among the samples of its triplet, from 0"),
        Column("text", pa.string(), "the text shown to the evaluated model"),
        LABEL,
        Column("rephraser", pa.string(), "who reworded it: none, reviewed, or a model id"),
        Column(
            "status",
            pa.string(),
            "accepted by the gate, fallback to the statement, or as_is (nothing to gate)",
            values=("accepted", "fallback", "as_is"),
        ),
        Column("attempts", pa.int16(), "how many rewordings were tried"),
        Column("reasons", pa.list_(pa.string()), "why attempts were rejected, in order"),
    ),
)
ATTEMPTS = Stage(
    "attempts",
    "a rewording of a variant by a language model, as the gate found it",
    ("variant_id", "attempt"),
    (
        VARIANT_ID,
        RELATION,
        Column("attempt", pa.int16(), "1, 2, … in the order in which they were tried"),
        Column("rephraser", pa.string(), "model id of who reworded it"),
        PROMPT_KEY,
        Column("text", pa.string(), "the rewording, cleaned; null if the model gave none", is_nullable=True),
        Column("is_accepted", pa.bool_(), "whether the gate let it into the edition"),
        Column("reasons", pa.list_(pa.string()), "why the gate rejected it; empty if it did not"),
    ),
)
DIVERSITY = Stage(
    "diversity",
    "a sample of the triplets drawn for it, measured against its statement and its siblings",
    ("sample_id",),
    (
        SAMPLE_ID,
        TRIPLET_ID,
        RELATION,
        Column("method", pa.string(), "how the sample was made", values=METHODS),
        Column("lexical_distance", pa.float64(), "words changed against the statement, 0 to 1"),
        Column("structural_distance", pa.float64(), "parts of speech changed against the statement, 0 to 1"),
        Column(
            "lexical_spread",
            pa.float64(),
            "mean lexical distance to the other samples of its triplet and method; null if it is alone",
            is_nullable=True,
        ),
        Column(
            "structural_spread",
            pa.float64(),
            "mean structural distance to the other samples of its triplet and method; null if it is alone",
            is_nullable=True,
        ),
    ),
)
GUESSES = Stage(
    "guesses",
    "a test triplet as guessers that were trained on other heads judge it",
    ("triplet_id",),
    (
        TRIPLET_ID,
        RELATION,
        Column("overlap_guess", pa.bool_(), "whether the guesser that compares names believes the triplet"),
        Column(
            "neighbour_guess",
            pa.bool_(),
            "whether the guesser that knows the other facts of the base believes the triplet",
        ),
    ),
)
HUMAN_VERDICTS = Stage(
    "human_verdicts",
    "what a reviewer answered to a question about an item of an edition",
    ("edition_id", "question", "item_id", "reviewer"),
    (
        Column("edition_id", pa.string(), "the edition that was reviewed"),
        Column(
            "question",
            pa.string(),
            "a grade from 0 to 5 (PretexEval, appendix H), or whether a label or a rewording is right",
            values=("reliability", "lexical_diversity", "structural_diversity", "label", "rewording"),
        ),
        define_id("item_id", "what was judged: samples of a triplet by a method, a triplet, or a variant"),
        TRIPLET_ID,
        Column(
            "method",
            pa.string(),
            "how graded samples were made; null for labels and rewordings",
            is_nullable=True,
            values=METHODS,
        ),
        Column("reviewer", pa.string(), "who answered"),
        Column(
            "verdict",
            pa.string(),
            "0 to 5; label is right, also_true, also_false or undecided; same or wrong",
        ),
        Column("comment", pa.string(), "what the reviewer noted", is_nullable=True),
    ),
)
REQUESTS = Stage(
    "requests",
    "a sample or a question put to a model",
    ("item_id", "repeat"),
    (
        ITEM_ID,
        MODEL_ID,
        PROMPT_KEY,
        REPEAT,
        RELATION,
        Column("n_demonstrations_dropped", pa.int16(), "left out from the front to fit the model"),
        Column("prompt_style", pa.string(), "how it is asked", values=("completion", "chat")),
        Column("sampling", pa.string(), "sampling parameters, as canonical JSON"),
        Column(
            "weight",
            pa.int16(),
            "how many samples of its triplet the answer stands for in averages: 1; with ask = enough also "
            "all k of them, or 0 where it only tells whether the pair is mastered",
        ),
    ),
)
RESPONSES = Stage(
    "responses",
    "what a model answered to one prompt; shared by all editions",
    ("prompt_key", "repeat"),
    (
        PROMPT_KEY,
        MODEL_ID,
        REPEAT,
        Column("prompt", pa.string(), "what was sent: text, or the chat messages as JSON"),
        Column("response", pa.string(), "the text as it came; null if failed", is_nullable=True),
        Column("status", pa.string(), "ok or error", values=("ok", "error")),
        Column("error", pa.string(), "why there is no response", is_nullable=True),
        Column("finish_reason", pa.string(), "stop, length, … as the engine says", is_nullable=True),
        Column("n_prompt_tokens", pa.int32(), "tokens sent", is_nullable=True),
        Column("n_completion_tokens", pa.int32(), "tokens generated", is_nullable=True),
        Column("logprob_true", pa.float64(), "log-probability of True", is_nullable=True),
        Column("logprob_false", pa.float64(), "log-probability of False", is_nullable=True),
        Column(
            "reasoning",
            pa.string(),
            "what the model thought, where it came apart from the response",
            is_nullable=True,
        ),
        Column(
            "served",
            pa.string(),
            "what answered: model and fingerprint of the endpoint, or engine, device and precision",
            is_nullable=True,
        ),
    ),
)
READINGS = Stage(
    "readings",
    "the answer of a model to a sample or a question, as it was read",
    ("item_id", "repeat"),
    (
        ITEM_ID,
        MODEL_ID,
        PROMPT_KEY,
        REPEAT,
        RELATION,
        Column(
            "answer",
            pa.string(),
            "what the response says, written like the right answer; U for Unsure; null for no answer",
            is_nullable=True,
            pattern=READ_PATTERN,
        ),
        Column("rule", pa.string(), "which rule found the answer or a part of it", is_nullable=True),
        Column("error", pa.string(), "why the prompt has no response; null if it has one", is_nullable=True),
        Column(
            "is_unfinished_reasoning",
            pa.bool_(),
            "true if there is no answer because the thought did not end; null otherwise",
            is_nullable=True,
        ),
        Column(
            "is_refused",
            pa.bool_(),
            "true if there is no answer because the model or a filter refused; null otherwise",
            is_nullable=True,
        ),
        Column(
            "thought_start",
            pa.int32(),
            "characters of the response before its thought; null if it contains none",
            is_nullable=True,
        ),
        Column("thought_end", pa.int32(), "characters up to the end of the thought", is_nullable=True),
    ),
)
PREDICTIONS = Stage(
    "predictions",
    "a sample, or a question of which all repeats vote, judged under a scoring policy",
    ("item_id", "repeat", "scoring_policy"),
    (
        ITEM_ID,
        MODEL_ID,
        REPEAT,
        RELATION,
        SCORING_POLICY,
        Column(
            "prediction",
            pa.string(),
            "the answer, or the one that most repeats gave; null for no answer",
            is_nullable=True,
            pattern=READ_PATTERN,
        ),
        Column(
            "is_correct",
            pa.bool_(),
            "prediction equals the right answer; null where the policy excludes it or every prompt failed",
            is_nullable=True,
        ),
        Column("n_answers", pa.int16(), "repeats with an answer"),
        Column("n_agreeing", pa.int16(), "repeats that gave the prediction"),
        Column(
            "error",
            pa.string(),
            "why no repeat has a response, so that no policy grades the row; null if one has",
            is_nullable=True,
        ),
    ),
)
# The stages of an edition, in the order in which they are made. Only a language model makes attempts, and
# questions are made only if the configuration asks for them.
EDITION_STAGES = (TRIPLETS, VARIANTS, STATEMENTS, ATTEMPTS, SAMPLES, QUESTIONS)
# What is measured on an edition, and stored outside it.
APPRAISAL_STAGES = (DIVERSITY, GUESSES, HUMAN_VERDICTS)
ANSWER_STAGES = (REQUESTS, RESPONSES, READINGS, PREDICTIONS)
STAGES = {s.name: s for s in (*EDITION_STAGES, *ANSWER_STAGES, *APPRAISAL_STAGES)}

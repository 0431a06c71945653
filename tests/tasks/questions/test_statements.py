"""The sentences that are made of a question of MedQA and its options."""

from pathlib import Path

import polars as pl

from tasks.questions.clauses import Clause, parse_clause
from tasks.questions.option_forms import Form, find_form, find_forms, make_singular
from tasks.questions.statements import ask, find_option_forms, state

# One case a line: what is made of a sentence, of an option, or of both.
TABLE = pl.read_csv(Path(__file__).with_name("statements.tsv"), separator="\t", quote_char=None)


def read_cases(kind: str, *columns: str) -> list[tuple[str, ...]]:
    cases = TABLE.filter(kind=kind).select(*columns).rows()
    assert cases
    return cases


def parse(sentence: str) -> Clause:
    clause = parse_clause(sentence)
    assert isinstance(clause, Clause), clause
    return clause


def state_both(sentence: str, option: str) -> tuple[str, str]:
    clause = parse(sentence)
    (form,) = find_option_forms(clause, [option])
    return state(clause, option, form, is_negated=False), state(clause, option, form, is_negated=True)


def test_negated_question() -> None:
    table = read_cases("negated", "sentence", "expected")
    assert [(sentence, ask(parse(sentence), is_negated=True)) for sentence, _ in table] == table
    # A question that is not negated keeps its words.
    sentence = "If he smokes, which of the following nerves is most likely hurt"
    assert ask(parse(sentence), is_negated=False) == f"{sentence}?"


def test_statement_and_its_contradictory() -> None:
    table = read_cases("stated", "sentence", "option", "expected", "negated")
    assert [(*case, *state_both(*case)) for case in (row[:2] for row in table)] == table


def test_what_cannot_be_turned_has_a_reason() -> None:
    for sentence, reason in read_cases("not turned", "sentence", "expected"):
        assert reason in str(parse_clause(sentence)), sentence


def test_form_and_singular_of_an_option() -> None:
    forms, singulars = (read_cases(kind, "option", "expected") for kind in ("form", "singular"))
    assert [(option, find_form(option).name) for option, _ in forms] == forms
    assert [(noun, make_singular(noun)) for noun, _ in singulars] == singulars


def test_options_are_parallel() -> None:
    options = ["It is harmless", "It is painful", "Gout spreads quickly"]
    assert find_forms(options, are_sentences_likely=False) == [Form.SENTENCE] * 3
    one = ["Gout", "It is harmless"]
    assert find_forms(one, are_sentences_likely=False) == [Form.SINGULAR, Form.SENTENCE]
    assert find_forms(one, are_sentences_likely=True) == [Form.SENTENCE] * 2

"""What responses say about statements (method, section 3); the same reader reads true-false questions."""

from tasks.answers.reading import read_statement
from tasks.answers.segments import cut_completion
from tasks.evaluation.subject import ANSWER_TEXTS

TRUE = (
    *("True", "true", "TRUE", " True", "\nTrue", "\n\n  True.", "True\n\nStatement: something else is False"),
    *("**True**", "*True*", "_True_", "__True__", "`True`", '"True"', "“True”", "A: True", "Answer: true"),
    *("Entailed", "This is entailed by the label.", "Correct", "Correct!", "That's correct.", "Yes"),
    *("not false", "Not wrong", "It isn't false.", "It isn’t wrong", "That is not incorrect."),
    *("It can't be false", "not contradicted", "非常に True"),
    "The statement is true, not false.",
    "It is true that aspirin does not treat gout; no, really.",
    "Yes. It is false that it never helps.",
    "Ja",
    "I do not know much, but yes.",
)
FALSE = (
    *("False", "false.", " FALSE", "\nFalse", "**False**", "_False_", "The statement is: False.", "A) False"),
    *("Contradicted", "It is contradicted by the evidence.", "Wrong", "No", "no", "No answer is True"),
    *("incorrect", "Incorrect.", "That is untrue", "not entailed", "not true", "Not true.", "NOT TRUE"),
    *("It isn't correct.", "It isn’t correct.", "It is not **true**", 'The statement is not "true".'),
    *("That's not entirely true.", "not necessarily correct", "It is not a true statement."),
    *("It cannot be true.", "It can't be true", "It couldn’t be true", "It does not seem correct"),
    *("It doesn't appear to be true", "never true", "This is hardly true"),
    "No, it is true that it treats gout.",
    "Is it true? No.",
    "It is false, so the answer True would mislead",
)
NO_ANSWER = (
    *(None, "", " ", "\n", "I cannot say", "I can't tell.", "I don't know.", "unknown", "maybe", "0"),
    *("nothing", "know", "Now", "note", "None", "notrue", "true1", "The statement", "Not sure."),
    *("Truely", "Truly", "Truth", "untruth", "Falsehood", "Falsely", "Correctly", "correctness"),
    *("Yesterday", "yeast", "wrongly", "It entails a risk", "contradictory", "True or False", "true/false"),
)


def test_a_reply_means_true_or_false_or_nothing() -> None:
    expected = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False) | dict.fromkeys(NO_ANSWER)
    assert {reply: read_statement(reply) for reply in expected} == expected


def test_early_stop_changes_no_answer() -> None:
    """The response ends with the first of the texts that is complete, as vLLM generates it."""
    changed = []
    # "True or False" is stopped after "True".
    for response in TRUE + FALSE + NO_ANSWER[1:-2]:
        for more in ("", " because", "\n\nStatement", ". No.", ", not true", "*", "ly", "_1", "1"):
            # "notrue." would be ended too, but "untrue" is the only word that ends so, and it is an answer.
            whole = response.replace("notrue", "nothing") + more
            ends = [whole.index(text) + len(text) for text in ANSWER_TEXTS if text in whole]
            stopped = whole[: min(ends, default=len(whole))]
            changed += [
                whole
                for cut in (str, cut_completion)
                if read_statement(cut(stopped)) is not read_statement(cut(whole))
            ]
    assert not changed


def test_completion_is_cut_after_its_first_line_with_text() -> None:
    texts = {
        None: None,
        "": "",
        " \n\n": "",
        " True": "True",
        "\n\n False\nStatement: another is True": "False",
        "maybe\nTrue": "maybe",
        "True\r\n\r\nAnswer: False": "True",
    }
    assert {response: cut_completion(response) for response in texts} == texts

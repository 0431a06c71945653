"""The simulated engine knows as many heads as it should, and always says the same."""

from benchmarks.simulated_evaluations import SimulatedEngine, Statement
from schemas.exchange import Prompt, Sampling
from tasks.asking.prompts import QUESTION, PromptForm

STATEMENTS = {f"Statement {k}.": Statement(f"head {k // 8}", k % 2 == 0) for k in range(4000)}
PROMPTS = [PromptForm().render((), QUESTION.format(text)) for text in STATEMENTS]


def count_right(known_share: float) -> int:
    engine = SimulatedEngine("tested", known_share, STATEMENTS)
    answers = engine.generate(PROMPTS, Sampling())
    labels = (statement.label for statement in STATEMENTS.values())
    return sum(f" {label}" == answer.response for label, answer in zip(labels, answers, strict=True))


def test_a_model_that_knows_more_answers_more_right() -> None:
    assert [round(count_right(share) / 4000, 1) for share in (0.0, 0.5, 1.0)] == [0.5, 0.7, 1.0]


def test_the_answer_to_a_prompt_depends_on_its_last_statement_alone() -> None:
    engine = SimulatedEngine("tested", 0.5, STATEMENTS)
    shown = [Prompt(prompt.style, f"{PROMPTS[7].text} True\n\n{prompt.text}") for prompt in PROMPTS]
    alone, after = (engine.generate(prompts, Sampling()) for prompts in (PROMPTS, shown))
    assert [answer.response for answer in alone] == [answer.response for answer in after]

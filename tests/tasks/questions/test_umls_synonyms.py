"""Synonyms of MedQA's answers from an excerpt in the format of UMLS, up to the questions that they make."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl

from pretexeval.config.file import load_config
from tasks.edition.planning import plan_edition
from tasks.edition.preview import preview_questions
from tests.support.command import REPOSITORY

# CUI, language, SUPPRESS, name. Two concepts have the name "Cold".
CONCEPTS = """
C1 ENG N Myocardial infarction
C1 ENG N Heart attack
C1 ENG N HEART ATTACK
C1 ENG N Infarction, Myocardial
C1 ENG N Myocardial infarctions
C1 ENG N Myocardial infarction (disorder)
C1 ENG O MI - obsolete
C1 GER N Herzinfarkt
C2 ENG N Cold
C2 ENG N Common cold
C3 ENG N Cold
C3 ENG N Low temperature
C4 ENG N Aspirin
C4 ENG N Acetylsalicylic acid
C4 ENG N The "wonder" drug
"""


def write_rrf(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for line in CONCEPTS.strip().splitlines():
            cui, language, suppress, name = line.split(" ", 3)
            between = "P|L1|PF|S1|Y|A1||||MSH|PT|D1"
            file.write(f"{cui}|{language}|{between}|{name}|0|{suppress}||\n")


def test_synonyms_from_umls_make_questions_with_several_right_options(tmp_path: Path) -> None:
    write_rrf(tmp_path / "MRCONSO.RRF")
    medqa, synonyms = tmp_path / "test.jsonl", tmp_path / "synonyms.tsv"
    answers = ["Myocardial infarction", "Cold", "aspirin", *(f"Disease {n}" for n in range(8))]
    items = [
        {
            "question": f"A {n}-year-old man feels ill. Which of the following is the most likely diagnosis?",
            "options": {"A": answer, **{letter: f"Option {letter}{n}" for letter in "BCDE"}},
            "answer_idx": "A",
            "answer": answer,
            "meta_info": "step1",
        }
        for n, answer in enumerate(answers)
    ]
    medqa.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    command = [sys.executable, "examples/umls_synonyms.py", str(tmp_path), str(medqa), str(synonyms)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    assert pl.read_csv(synonyms, separator="\t").rows() == [
        ("Myocardial infarction", "Heart attack", "C1"),
        ("aspirin", "Acetylsalicylic acid", "C4"),
        ("aspirin", 'The "wonder" drug', "C4"),
    ]
    config = tmp_path / "config.toml"
    config.write_text(
        f'[knowledge]\nname = "medqa"\nformat = "medqa"\npath = "{medqa}"\n'
        f'[questions]\nsettings = ["answer_only"]\nsynonyms = "{synonyms}"\n'
        f'[storage]\nroot = "{tmp_path}/data"\n'
    )
    questions = pl.concat(preview_questions(plan_edition(load_config(config)))).filter(
        type="MAQ", is_negated=False
    )
    options = questions.explode("options")["options"]
    assert {"Heart attack", "Acetylsalicylic acid"} & set(options)
    assert not {"Common cold", "Low temperature", "Herzinfarkt"} & set(options)
    assert questions["answer"].str.contains(",").any()

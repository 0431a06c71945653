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

# CUI, language, name, SUPPRESS.
CONCEPTS = [
    ("C1", "ENG", "Myocardial infarction", "N"),
    ("C1", "ENG", "Heart attack", "N"),
    ("C1", "ENG", "HEART ATTACK", "N"),
    ("C1", "ENG", "Infarction, Myocardial", "N"),
    ("C1", "ENG", "Myocardial infarctions", "N"),
    ("C1", "ENG", "Myocardial infarction (disorder)", "N"),
    ("C1", "ENG", "MI - obsolete", "O"),
    ("C1", "GER", "Herzinfarkt", "N"),
    # Two concepts have this name.
    ("C2", "ENG", "Cold", "N"),
    ("C2", "ENG", "Common cold", "N"),
    ("C3", "ENG", "Cold", "N"),
    ("C3", "ENG", "Low temperature", "N"),
    ("C4", "ENG", "Aspirin", "N"),
    ("C4", "ENG", "Acetylsalicylic acid", "N"),
    ("C4", "ENG", 'The "wonder" drug', "N"),
]


def write_rrf(path: Path) -> None:
    rows = []
    for cui, language, name, suppress in CONCEPTS:
        fields = [cui, language, "P", "L1", "PF", "S1", "Y", "A1", "", "", "", "MSH", "PT", "D1", name, "0"]
        rows.append("|".join([*fields, suppress, "", ""]))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


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

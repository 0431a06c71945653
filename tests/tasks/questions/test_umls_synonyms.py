"""Synonyms of MedQA's answers from an excerpt in the format of UMLS, up to the questions that they make."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl

from pretexeval.knowledge.synonyms import read_synonyms
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


def test_synonyms_of_answers_are_read_from_umls(tmp_path: Path) -> None:
    write_rrf(tmp_path / "MRCONSO.RRF")
    medqa, synonyms = tmp_path / "test.jsonl", tmp_path / "synonyms.tsv"
    items = [
        {
            "question": "Which of the following is the most likely diagnosis?",
            "options": {"A": answer, **{letter: f"Option {letter}" for letter in "BCDE"}},
            "answer_idx": "A",
            "answer": answer,
            "meta_info": "step1",
        }
        for answer in ("Myocardial infarction", "Cold", "aspirin", "Another disease")
    ]
    medqa.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    command = [sys.executable, "examples/umls_synonyms.py", str(tmp_path), str(medqa), str(synonyms)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    assert pl.read_csv(synonyms, separator="\t").rows() == [
        ("Myocardial infarction", "Heart attack", "C1"),
        ("aspirin", "Acetylsalicylic acid", "C4"),
        ("aspirin", 'The "wonder" drug', "C4"),
    ]
    # The table is one that a configuration can name.
    assert read_synonyms(synonyms).find("Myocardial infarction") == ("Heart attack",)

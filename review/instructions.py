"""What a grader is told: PretexEval's scales (appendix H) in our words."""

INSTRUCTIONS = """\
# Grading the samples of a test set

Each row of the sheet shows one fact of a medical knowledge base (`triplet`: the first thing, the
relation, the second thing) and one to eight texts that were made from it (`sample_1`, `sample_2`, …).
Before each text stands what it was meant to be of this fact: (true), or (false) where it was meant to
deny it. A denial is no fault: "It is false that A causes B." is a good text if it is marked (false).

Read all texts of a row, and give one grade for them together in each of three columns: a whole number
from 0 to 5. What 0, 3 and 5 mean is below; 1, 2 and 4 lie between.

## reliability

- 0: Many errors; a reader would take away something else than the fact, or than the mark says.
- 3: Mostly right; small inaccuracies or ambiguities that leave the meaning as it is.
- 5: Right in every text, clear and exact; no error, nothing ambiguous.

Asked is whether the texts say what the triplet says, true or denied as marked. If you hold the triplet
itself for wrong, grade the texts all the same, and say so in `comment`.

## lexical_diversity

- 0: The words are those of the triplet, hardly one besides.
- 3: Ordinary words vary somewhat; the medical terms stay as they are.
- 5: Varied words, medical terms and ordinary ones alike.

## structural_diversity

- 0: Built like the triplet, everything in its order.
- 3: Slightly changed: another order of words, another phrase, on the same grammatical frame.
- 5: Built anew: the same content in another syntax and another line of thought.

## Please

- Grade a row with a single text like the others, against its triplet.
- The texts of one fact come in several rows, far apart. Grade each row for itself, without its twins.
- `comment` is yours, and may stay empty. Change no other cell; add and delete no rows. Sorting is no harm.
- Fill every row, and save the sheet as CSV. The delimiter and the encoding do not matter.

The scales are those of PretexEval (Zhou et al., ICLR 2025), appendix H, in our words.
"""

"""The instructions for graders: the scales of PretexEval (appendix H) in our words."""

INSTRUCTIONS = """\
# Grading the samples of a test set

Each row of the sheet shows one fact of a medical knowledge base (`triplet`: the first thing, the
relation, the second thing) and one to eight texts that were made from it (`sample_1`, `sample_2`, …).
A mark before each text shows its purpose: a text with (true) should state the fact, and a text with
(false) should deny it. A denial is not an error: "It is false that A causes B." is a good text if its
mark is (false).

Read all texts of a row. Then give one grade for all of them together in each of three columns: a whole
number from 0 to 5. The meaning of 0, 3 and 5 is below; 1, 2 and 4 are between them.

## reliability

- 0: Many errors; a reader would understand something other than what the fact and the mark say.
- 3: Mostly right; small inaccuracies or ambiguities that leave the meaning as it is.
- 5: Right in every text, clear and exact; no error, nothing ambiguous.

The question is whether the texts state the triplet, or deny it, as their marks say. If you think that
the triplet itself is wrong, grade the texts anyway, and write your doubt in `comment`.

## lexical_diversity

- 0: The texts use almost only the words of the triplet.
- 3: Ordinary words vary somewhat; the medical terms stay as they are.
- 5: Both the medical terms and the ordinary words vary.

## structural_diversity

- 0: The texts have the structure and the order of the triplet.
- 3: Slightly changed: another word order or another phrase, but the same grammatical structure.
- 5: A new structure: the same content with another syntax and another train of thought.

## Please

- Grade a row with a single text like the others: compare the text with its triplet.
- The same fact appears in several rows, far apart. Grade each row on its own, without the other rows.
- You may write in `comment` or leave it empty. Change no other cell, and do not add or delete rows. You
  may sort the rows.
- Fill in the grades of every row, and save the sheet as CSV. Any delimiter and any encoding will do.

The scales are those of PretexEval (Zhou et al., ICLR 2025), appendix H, in our words.
"""

"""Read the answers to questions (letters and judgements) from the text of responses."""

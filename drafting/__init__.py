"""Draft the prototypes of a relation from one sentence: by rule, or by a language model; all are checked."""

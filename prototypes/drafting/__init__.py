"""Draft the prototypes of a relation: a person writes the four affirmative ones, rules write the denials."""

"""Whether the rows of a stage meet its expectations, and how diverse the samples are."""

"""The values that both the configuration and the columns know.

This module does not import pyarrow, which takes 0.2 s: the configuration is read before anything else.
"""

from typing import Literal

Negatives = Literal["balanced", "uniform"]
Method = Literal["pretexeval", "prototype", "direct", "llmeval", "origin"]
QuestionSetting = Literal["answer_only", "chain_of_thought"]
ScoringPolicy = Literal["strict", "coin-flip", "excluded"]

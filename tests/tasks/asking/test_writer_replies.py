from pathlib import Path

from pretexeval.config.engines import WriterConfig
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from tasks.asking.writers import UNFINISHED_REASONING, Reply, Writer, read_replies

KEYS = [digit * 32 for digit in "abcde"]
CONFIG = WriterConfig(name="w", engine="openai", model="x", base_url="http://a/v1")


def test_reasoning_is_no_part_of_a_reply(tmp_path: Path) -> None:
    completions = [
        Completion("Fever may be present."),
        Completion("<think>Fever cannot be meant.</think>Fever may be present."),
        Completion("<think>Fever cannot"),
        Completion("Fever may be present.", reasoning="Fever cannot be meant."),
        Completion(None, "error", f"{PROMPT_TOO_LONG}: 9 tokens of 8"),
    ]
    ResponseStore(tmp_path, "w-1").append(KEYS, [Prompt("chat", "[]")] * len(KEYS), completions)
    said = Reply("Fever may be present.")
    replies = read_replies(tmp_path, Writer(CONFIG, "w-1"))
    unfinished, too_long = Reply(None, UNFINISHED_REASONING), Reply(None, PROMPT_TOO_LONG)
    assert [replies[key] for key in KEYS] == [said, said, unfinished, said, too_long]
    # Other marks give other replies, although no file has changed.
    unmarked = Writer(CONFIG.model_copy(update={"reasoning_marks": ()}), "w-1")
    assert read_replies(tmp_path, unmarked)[KEYS[2]] == Reply("<think>Fever cannot")

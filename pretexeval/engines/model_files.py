"""The files of a local model, read without loading it, so that a message names a damaged file.

`validate` and `doctor` check a model with this, and vLLM's engine does before it loads one.
"""

import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import (
    OTHER_FILES,
    find_cached_folder,
    find_folder,
    identify_model,
    list_weights,
)
from pretexeval.primitives.errors import InputError, describe_failure, is_failure

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt")
# Which file has which weights, of either format.
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
# The length of the header is in the first eight bytes. The library accepts no longer header than this.
LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
REMEDY = "copy or download the model again"


def find_problem(config: EngineConfig) -> str | None:
    """Return why a model cannot be used, as far as its files tell; None if they can be read."""
    try:
        identify_model(config)
        require_readable(config)
    except InputError as error:
        return str(error)
    return None


def require_some_usable(models: Iterable[EngineConfig]) -> dict[str, str]:
    """Return name -> the problem of each model that cannot be used.

    Raises:
        InputError: no model can be used; the message has a line for each.
    """
    problems = {model.name: find_problem(model) for model in models}
    found = {name: problem for name, problem in problems.items() if problem is not None}
    if found and len(found) == len(problems):
        raise InputError("\n".join(found.values()))
    return found


def require_readable(config: EngineConfig) -> None:
    """Check the files of a model that is loaded into this process. One that is not on this machine has none.

    Raises:
        InputError: a file is missing or damaged; the message names the model and the file. Or the code of a
            hub model is to be run, and no revision says which code.
    """
    if config.engine != "vllm":
        return
    local = find_folder(config)
    if local is None and config.trust_remote_code and config.revision is None:
        raise InputError(
            f"model {config.name!r}: trust_remote_code runs the code that {config.model!r} has on the hub at "
            "that moment; read it, and name its commit as revision"
        )
    folder = local or find_cached_folder(config)
    if folder is None:
        return
    try:
        # The hub's cache may hold a part of a model; the rest is downloaded.
        _check_files(folder, is_whole=local is not None)
    except BaseException as error:
        if not is_failure(error):
            raise
        raise InputError(f"model {config.name!r}: {describe_failure(error)}; {REMEDY}") from error


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the content of a JSON file.

    Raises:
        InputError: the file cannot be read; the message names it.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({describe_failure(error)})") from error


def read_tokenizer(path: Path) -> "Tokenizer":
    """Return the tokenizer of a file `tokenizer.json`.

    Raises:
        InputError: the file cannot be read; the message names it.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except BaseException as error:
        if not is_failure(error):
            raise
        raise InputError(f"{path} cannot be read ({describe_failure(error)})") from error


def _check_files(folder: Path, *, is_whole: bool) -> None:
    for name in OTHER_FILES:
        path = folder / name
        if name.endswith(".json") and path.exists():
            content = read_json(path)
            if name == "config.json" and not isinstance(content, dict):
                raise InputError(f"{path} cannot be read (it holds no JSON object)")
    if (folder / "tokenizer.json").exists():
        read_tokenizer(folder / "tokenizer.json")
    elif is_whole and not any((folder / name).is_file() for name in TOKENIZERS):
        raise InputError(f"{folder} holds no tokenizer (one of {', '.join(TOKENIZERS)})")
    for path in _list_weights(folder, is_whole=is_whole):
        _check_weights(path)


def _list_weights(folder: Path, *, is_whole: bool) -> list[Path]:
    """Return the files of the weights: those that the index names, or all."""
    index_file = next((folder / name for name in INDEXES if (folder / name).exists()), None)
    if index_file is None:
        return list_weights(folder)
    index = read_json(index_file)
    try:
        names = sorted(set(index["weight_map"].values()))
        paths = [folder / name for name in names]
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{index_file} cannot be read (it names no files)") from error
    if is_whole and (missing := [path for path in paths if not path.exists()]):
        raise InputError(f"{missing[0]} is missing, but {index_file.name} names it")
    return [path for path in paths if path.exists()]


def _check_weights(path: Path) -> None:
    """Check the header of a safetensors file, and that the file is as long as the header says.

    A file of PyTorch is an archive, whose list of contents is at its end.
    """
    if path.suffix == ".bin":
        if not zipfile.is_zipfile(path):
            raise InputError(f"{path} is damaged: it is no archive of PyTorch")
        return
    try:
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            n_header = int.from_bytes(file.read(LENGTH_BYTES), "little")
            if not 0 < n_header <= min(n_bytes - LENGTH_BYTES, MAX_HEADER_BYTES):
                raise ValueError("its header is cut off")
            header = json.loads(file.read(n_header))
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (OSError, ValueError, AttributeError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as safetensors ({describe_failure(error)})") from error
    n_expected = LENGTH_BYTES + n_header + max(ends, default=0)
    if n_bytes != n_expected:
        raise InputError(f"{path} is damaged: it has {n_bytes:,} bytes, and its header says {n_expected:,}")

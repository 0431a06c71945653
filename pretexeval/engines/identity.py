"""The identity of a model: checksums of its files, so that answers are never attributed to another model.

The files of a local model are checked without loading it, so that a message names a damaged file: `validate`,
`doctor` and vLLM's engine do so.
"""

import contextlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from pretexeval.config.engines import EngineConfig
from pretexeval.primitives.errors import InputError, describe_failure, is_failure
from pretexeval.primitives.hashing import checksum_file, hash_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def find_cached_folder(config: EngineConfig) -> Path | None:
    """Return the folder of a hub model in the local cache, or None if it is not there; uses no network."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ModuleNotFoundError:
        return None
    try:
        cached = try_to_load_from_cache(config.model, "config.json", revision=config.revision)
    except HFValidationError:
        return None
    return Path(cached).parent if isinstance(cached, str) else None


def find_commit(config: EngineConfig) -> str | None:
    """Return the commit of a hub model, which names its folder in the local cache, or None without one."""
    folder = find_cached_folder(config)
    return None if folder is None else folder.name


CARD = "card.json"


@dataclass(frozen=True)
class KnownHead:
    """A head that a model has learned in a relation."""

    relation: str
    head: str
    wordings: Literal["pool", "other"] = "pool"
    """`other`: the model never saw a sentence of the pool of prototypes about this relation."""


@dataclass(frozen=True)
class TaughtBase:
    """The knowledge base from which a model was taught."""

    name: str
    checksums: dict[str, str]
    """Relation -> `KnowledgeBase.checksum_relation`."""


@dataclass(frozen=True)
class TaughtFacts:
    """The facts that a model was taught, as its card and its record `model.json` say it."""

    known_heads: list[KnownHead] | None = None
    """The heads that the model has learned, or None if nothing says what the model knows."""
    taught_base: TaughtBase | None = None
    """The base of these heads; None if there are no heads."""

    def to_record(self) -> dict[str, Any]:
        """Return both fields as JSON."""
        return asdict(self)


TAUGHT_FACTS: TypeAdapter[TaughtFacts] = TypeAdapter(TaughtFacts)


def read_taught_facts(folder: Path) -> TaughtFacts:
    """Return the facts that the model was taught, by the card in its folder; none without a card.

    Raises:
        InputError: the card is not JSON, or its known heads or its base do not have the right form.
    """
    path = folder / CARD
    if not path.is_file():
        return TaughtFacts()
    try:
        return TAUGHT_FACTS.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the card"
        raise InputError(
            f"{path}: cannot be read as a model's card ({place}: {first['msg']}); "
            'known_heads is a list of {"relation", "head", "wordings"}, and taught_base names the base and '
            "the checksum of each of its relations"
        ) from error


# Patterns of the files of weights. Those of the first pattern that a file of the folder matches are loaded.
WEIGHT_PATTERNS = ("*.safetensors", "pytorch_model*.bin")
HUB_KEY = "HF_TOKEN"
"""The variable with the key of the hub, which gated models need."""
# Files beside the weights that can change an answer: architecture, tokenizer, chat template, end tokens.
OTHER_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tekken.json",
    "chat_template.jinja",
    "chat_template.json",
)


@dataclass(frozen=True)
class ModelIdentity:
    """The id under which a model's answers are stored, and what the id stands for."""

    model_id: str
    """`<name>-<hash8>`; the hash is that of ``identity``."""
    identity: dict[str, object]
    taught: TaughtFacts
    """The facts that the model was taught according to its card. They are no part of ``identity``."""


@contextlib.contextmanager
def _explain_unreadable(config: EngineConfig) -> Iterator[None]:
    """Raise an error of the operating system as an InputError that names the model and the file."""
    try:
        yield
    except OSError as error:
        place, reason = error.filename or config.model, error.strerror or error
        raise InputError(f"model {config.name!r}: {place} cannot be read ({reason})") from error


def identify_model(config: EngineConfig) -> ModelIdentity:
    """Return the identity of the model that ``config`` names, without loading or downloading it.

    Raises:
        InputError: the folder or file is missing or incomplete.
    """
    taught = TaughtFacts()
    declared = {"model": config.model, "revision": config.revision}
    precision = {"dtype": config.dtype, "quantization": config.quantization}
    identity: dict[str, object]
    with _explain_unreadable(config):
        if config.engine == "openai":
            # The address is no part of the identity, because it changes and may hold secrets.
            identity = {"kind": "endpoint", **declared}
        elif config.engine == "imported" and config.revision is not None:
            # Several files with one revision are answers of one model.
            identity = {"kind": "imported", "revision": config.revision}
        elif config.engine == "imported":
            path = find_recording(config)
            identity = {"kind": "imported", "checksum": checksum_file(path)}
            taught = read_taught_facts(path.parent)
        elif folder := find_folder(config):
            identity = {
                "kind": "folder",
                "checksums": _list_checksums(folder, has_code=config.trust_remote_code),
                **precision,
            }
            taught = read_taught_facts(folder)
        else:
            identity = {"kind": "hub", **declared, **precision}
    identity |= {name: True for name in ("trust_remote_code", "deterministic") if getattr(config, name)}
    return ModelIdentity(f"{config.name}-{hash_json(identity, digits=8)}", identity, taught)


def _list_checksums(folder: Path, *, has_code: bool) -> dict[str, str]:
    paths = list_weights(folder)
    paths += [path for name in OTHER_FILES if (path := folder / name).is_file()]
    paths += sorted(folder.glob("*.py")) if has_code else []
    return {path.name: checksum_file(path) for path in paths}


def list_weights(folder: Path) -> list[Path]:
    """Return the files of the weights that are loaded, sorted by name; none if the folder has none."""
    weights = (sorted(folder.glob(pattern)) for pattern in WEIGHT_PATTERNS)
    return next(filter(None, weights), [])


def find_folder(config: EngineConfig) -> Path | None:
    """Return the local folder of the model, or None if ``config.model`` is a hub name.

    Raises:
        InputError: ``config.model`` is a path, and there is no complete model.
    """
    folder = Path(config.model)
    with _explain_unreadable(config):
        if not folder.is_dir():
            if folder.is_file() and folder.suffix != ".gguf":
                raise InputError(
                    f"model {config.name!r}: {config.model!r} is a file; give the folder of a model"
                )
            if config.model.startswith((".", "/")) or config.model.endswith("/"):
                raise InputError(
                    f"model {config.name!r}: there is no folder {config.model!r}; "
                    "give the folder of a model or a hub name such as `org/name`"
                )
            return None
        for patterns in (("config.json",), WEIGHT_PATTERNS):
            # Unlike glob, this raises if the folder may not be read.
            if not any(fnmatch(name, pattern) for name in os.listdir(folder) for pattern in patterns):
                raise InputError(
                    f"model {config.name!r}: the folder {config.model!r} holds no {' or '.join(patterns)}; "
                    "a model needs config.json, a tokenizer and weights"
                )
    return folder


def is_hub_model(config: EngineConfig) -> bool:
    """Return whether the model is loaded from the hub."""
    return config.engine == "vllm" and find_folder(config) is None


def find_recording(config: EngineConfig) -> Path:
    """Return the path of the file of imported responses that ``config.model`` names.

    Raises:
        InputError: there is no such file.
    """
    path = Path(config.model)
    if not path.is_file():
        raise InputError(f"model {config.name!r}: there is no file of recorded responses {config.model!r}")
    return path


TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt")
# The files that say which file has which weights, of either format.
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


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
    """Check the files of a model that is loaded into this process, if they are on this machine.

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
        raise InputError(
            f"model {config.name!r}: {describe_failure(error)}; copy or download the model again"
        ) from error


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
    """Check the header of a file of weights, and that the file is as long as the header says.

    A file of PyTorch is an archive, whose list of contents is at its end.
    """
    if path.suffix == ".bin":
        if not zipfile.is_zipfile(path):
            raise InputError(f"{path} is damaged: it is no archive of PyTorch")
        return
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):
            pass
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read as safetensors ({describe_failure(error)})") from error

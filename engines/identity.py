"""Who a model is: checksums of what is loaded, so that one model's answers are never another's."""

import json
from dataclasses import dataclass
from pathlib import Path

from config.engines import EngineConfig
from primitives.checksums import checksum_file
from primitives.errors import InputError
from primitives.hashing import hash_json

WEIGHT_PATTERN = "*.safetensors"
# Whatever changes an answer: the architecture, the tokenizer, the template, where an answer ends.
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

# Hashing 140 GB of weights takes minutes; several models or flows of one process share the result.
_checksums: dict[tuple[str, int, int], str] = {}


@dataclass(frozen=True)
class ModelIdentity:
    """The name under which a model's answers are kept, and what that name stands for."""

    model_id: str
    """`<name>-<hash8>`, the hash being that of ``identity``."""
    identity: dict[str, object]
    known_heads: list[dict[str, str]] | None
    """The heads that the model has learned ({relation, head}); null if no card says."""


def identify_model(config: EngineConfig) -> ModelIdentity:
    """The identity of what ``config`` loads; nothing is loaded and nothing fetched.

    Raises:
        InputError: a folder or file that is missing or incomplete.
    """
    known_heads = None
    if config.engine == "openai":
        identity = _identify_endpoint(config)
    elif config.engine == "recorded":
        path = find_recording(config)
        identity = {"kind": "recorded", "checksum": _checksum_once(path)}
    elif folder := find_folder(config):
        identity = _identify_folder(config, folder)
        known_heads = read_known_heads(folder)
    else:
        identity = _identify_hub(config)
    return ModelIdentity(f"{config.name}-{hash_json(identity, digits=8)}", identity, known_heads)


def find_folder(config: EngineConfig) -> Path | None:
    """The local folder that ``config.model`` means, checked; null where it is a hub name.

    Raises:
        InputError: it is written as a path, and there is no complete model there.
    """
    folder = Path(config.model).expanduser()
    if not folder.is_dir():
        if config.model.startswith((".", "/", "~")) or config.model.endswith("/"):
            raise InputError(
                f"model {config.name!r}: there is no folder {config.model!r}; "
                "give the folder of a model, or a hub name such as `org/name`"
            )
        return None
    for pattern in ("config.json", WEIGHT_PATTERN):
        if not any(folder.glob(pattern)):
            raise InputError(
                f"model {config.name!r}: the folder {config.model!r} holds no {pattern}; "
                "it needs config.json, a tokenizer and weights as safetensors"
            )
    return folder


def find_recording(config: EngineConfig) -> Path:
    """The Parquet file that ``config.model`` names.

    Raises:
        InputError: there is none.
    """
    path = Path(config.model).expanduser()
    if not path.is_file():
        raise InputError(f"model {config.name!r}: there is no file of recorded responses {config.model!r}")
    return path


def read_known_heads(folder: Path) -> list[dict[str, str]] | None:
    """The heads that the folder's `card.json` lists as learned; null if it lists none.

    Raises:
        InputError: the card is not JSON, or its list is not one of relations and heads.
    """
    path = folder / "card.json"
    if not path.is_file():
        return None
    try:
        heads = json.loads(path.read_bytes()).get("known_heads")
        return heads and [{"relation": str(h["relation"]), "head": str(h["head"])} for h in heads]
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be read as a model's card ({error!r}); "
            'known_heads is a list of {"relation", "head"}'
        ) from error


def _identify_folder(config: EngineConfig, folder: Path) -> dict[str, object]:
    paths = sorted(folder.glob(WEIGHT_PATTERN))
    paths += [path for name in OTHER_FILES if (path := folder / name).is_file()]
    return {
        "kind": "folder",
        "checksums": {path.name: _checksum_once(path) for path in paths},
        "dtype": config.dtype,
        "quantization": config.quantization,
    }


def _identify_hub(config: EngineConfig) -> dict[str, object]:
    return {
        "kind": "hub",
        "model": config.model,
        "revision": config.revision,
        "dtype": config.dtype,
        "quantization": config.quantization,
    }


def _identify_endpoint(config: EngineConfig) -> dict[str, object]:
    """The declared name and revision: the address changes from run to run and may hold secrets."""
    return {"kind": "endpoint", "model": config.model, "revision": config.revision}


def _checksum_once(path: Path) -> str:
    stat = path.stat()
    key = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    if key not in _checksums:
        _checksums[key] = checksum_file(path)
    return _checksums[key]

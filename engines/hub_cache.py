"""The local cache of the Hugging Face hub."""

from pathlib import Path

from config.engines import EngineConfig


def find_cached_folder(config: EngineConfig) -> Path | None:
    """Return the folder of a hub model in the local cache, or None if it is not there; uses no network."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ModuleNotFoundError:
        return None
    try:
        found = try_to_load_from_cache(config.model, "config.json", revision=config.revision)
    except HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None


def find_commit(config: EngineConfig) -> str | None:
    """Return the commit of a hub model in the local cache, or None if it is not there; uses no network."""
    folder = find_cached_folder(config)
    return None if folder is None else folder.name

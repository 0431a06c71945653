"""What the hub says of a model that is not in its cache: who may download it, and how large it is."""

from fnmatch import fnmatch
from pathlib import Path

from commands.preflight.findings import show_size
from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import HUB_KEY, WEIGHT_PATTERNS
from pretexeval.primitives.errors import InputError
from pretexeval.storage.disk import measure_free_space

TIMEOUT_S = 10.0


def measure_weights(config: EngineConfig) -> int | None:
    """Return the bytes of the weights that a run will download; None if the hub does not answer.

    Raises:
        InputError: the hub has no such model, or does not let this user download it.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api, model = HfApi(), config.model
    try:
        api.auth_check(model)
        described = api.model_info(model, revision=config.revision, timeout=TIMEOUT_S, files_metadata=True)
    except GatedRepoError:
        raise InputError(
            f"{model}: the model is gated: accept its terms at https://huggingface.co/{model} with your "
            f"account, and set {HUB_KEY} to a key of it (or create its Secret block)"
        ) from None
    except RepositoryNotFoundError:
        raise InputError(
            f"{model}: the hub has no such model, or it is private: correct the name, or set {HUB_KEY}"
        ) from None
    except Exception:  # no network
        return None
    sizes = {file.rfilename: file.size or 0 for file in described.siblings or ()}
    for pattern in WEIGHT_PATTERNS:
        if weights := [size for name, size in sizes.items() if fnmatch(name, pattern) and "/" not in name]:
            return sum(weights)
    raise InputError(
        f"{model}: the hub has no weights of it that vLLM loads ({' or '.join(WEIGHT_PATTERNS)})"
    )


def require_room(config: EngineConfig, n_bytes: int) -> None:
    """Check that the disk of the hub's cache has room for the weights.

    Raises:
        InputError: it has not.
    """
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    n_free = measure_free_space(cache)
    if n_bytes > n_free:
        raise InputError(
            f"{config.model}: its weights take {show_size(n_bytes)}, and {cache} has {show_size(n_free)} "
            "free; make room, or set HF_HOME to a folder on a larger disk"
        )

"""Load the engine that a model's configuration names."""

import contextlib
from threading import Thread

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError


def load_engine(config: EngineConfig) -> Engine:
    """Return the engine that ``config`` names, loaded and ready. The caller must close it.

    Engines are imported only when they are needed: importing vLLM alone takes 6 to 17 s.

    Raises:
        InputError: the model cannot be loaded, or its responses are imported.
    """
    if config.engine == "imported":
        raise InputError(
            f"model {config.name!r} cannot be asked, because its responses are imported; import those that "
            "are missing with `pretexeval import-responses`"
        )
    if config.engine == "vllm":
        from pretexeval.engines.vllm_engine import VllmEngine

        return VllmEngine(config)
    from pretexeval.engines.openai_engine import OpenaiEngine

    return OpenaiEngine(config)


def begin_loading(config: EngineConfig) -> None:
    """Start to import in the background what loading the model needs, and return at once.

    A failed import is not reported here, because loading the model then fails with the same error.
    """
    if config.engine == "vllm":
        Thread(target=_import_vllm, args=(config,), name="import-vllm").start()


def _import_vllm(config: EngineConfig) -> None:
    from pretexeval.engines.identity import find_folder
    from pretexeval.engines.vllm_process import import_vllm, prepare_environment

    with contextlib.suppress(Exception):
        prepare_environment(find_folder(config) is not None, is_deterministic=config.deterministic)
        import_vllm()

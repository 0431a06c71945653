"""Whether the storage that hosts share can be used, found out with one small object."""

import secrets
from datetime import timedelta

from preflight.findings import Finding
from primitives.errors import InputError
from storage.bucket import Bucket
from storage.lease import Lease

TITLE = "shared storage"
PATIENCE = timedelta(seconds=10)


def check_shared(address: str) -> Finding:
    """Whether objects can be written and read there, and one process at a time be held; leaves nothing."""
    path = f"locks/doctor-{secrets.token_hex(4)}.json"
    try:
        bucket = Bucket(address, PATIENCE)
        # Where nobody answers, this alone is waited for.
        bucket.read(path)
        try:
            with Lease(bucket, path):
                pass
        finally:
            bucket.remove(path)
    except InputError as error:
        return Finding(TITLE, "failing", str(error))
    return Finding(TITLE, "ok", f"{address}: readable, writable, keeps conditional writes")

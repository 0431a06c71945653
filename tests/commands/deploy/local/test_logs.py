"""The logs of services, as supervisord writes them."""

import subprocess
import sys
from pathlib import Path

from commands.deploy.local.services import Service, write_configuration
from tests.support.fault_models import wait_until

MAX_BYTES = 10 * 2**20
# 25 MB, and then a process that stays, so that supervisord does not start it again.
TALK = """
import time
for number in range(250_000):
    print(f"{number:99}")
print("end", flush=True)
time.sleep(600)
"""


def test_the_log_of_a_service_is_rotated(tmp_path: Path) -> None:
    configuration, logs = tmp_path / "supervisord.conf", tmp_path / "logs"
    logs.mkdir()
    (tmp_path / "talk.py").write_text(TALK)
    service = Service([sys.executable, str(tmp_path / "talk.py")], is_ready=lambda: True)
    write_configuration(configuration, tmp_path / "socket", {"cpu": service}, logs)
    configuration.write_text(configuration.read_text().replace("autostart=false", "autostart=true"))
    command = [sys.executable, "-m", "supervisor.supervisord", "--nodaemon", "-c", str(configuration)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as supervisord:
        try:
            newest = logs / "cpu.log"
            wait_until(lambda: newest.exists() and newest.read_text().endswith("end\n"), "all is logged", 60)
        finally:
            supervisord.terminate()
    sizes = {path.name: path.stat().st_size for path in logs.glob("cpu.log*")}
    assert sorted(sizes) == ["cpu.log", "cpu.log.1", "cpu.log.2"]
    assert max(sizes.values()) < MAX_BYTES + 2**17

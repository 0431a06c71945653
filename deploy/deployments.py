"""Register everything with a Prefect server: the pools and their limits, the deployments, the automations.

Registering is idempotent: it updates what exists and creates nothing twice.
"""

import os
import subprocess
import sys
from pathlib import Path

from prefect.client.orchestration import get_client

from deploy.automations import provide_automations
from deploy.pools import plan_pools, provide_pool
from primitives.errors import InputError

PROJECT = Path(__file__).parents[1]
POOLS = PROJECT / "deploy" / "pools.toml"


def deploy(config_file: Path, n_gpus: int, pool_type: str = "process", pools_file: Path = POOLS) -> None:
    """Create the pools `cpu` and `gpu` with their limits, the automations, and the deployments of all flows.

    Args:
        n_gpus: the number of runs that the pool `gpu` starts at the same time.
        pool_type: process, docker or kubernetes.
        pools_file: settings for the runs of docker and kubernetes pools.

    Raises:
        InputError: if no server is named, a pool cannot be created, or Prefect refuses a deployment.
    """
    if "PREFECT_API_URL" not in os.environ:
        raise InputError("PREFECT_API_URL is not set: set it to the API of the server to register with")
    plan = plan_pools(pool_type, pools_file)
    if pool_type != "process" and config_file.is_absolute():
        raise InputError(
            f"{config_file}: containers read the configuration under {plan.home}: give a path relative to it"
        )
    with get_client(sync_client=True) as client:
        # The pools first: `prefect deploy --all` skips a deployment whose pool is missing.
        provide_pool(client, "cpu", plan, None)
        provide_pool(client, "gpu", plan, n_gpus)
        provide_automations(client)
    _deploy_flows(config_file, plan.home)


def _deploy_flows(config_file: Path, home: Path) -> None:
    paths = {"PRETEXEVAL_HOME": str(home), "PRETEXEVAL_CONFIG": str(config_file)}
    command = ["--no-prompt", "deploy", "--all", "--prefect-file", str(PROJECT / "prefect.yaml")]
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *command],
        cwd=PROJECT,
        env=os.environ | paths | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(f"Prefect refused the deployments:\n{done.stdout}{done.stderr}")

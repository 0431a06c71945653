"""What earlier versions registered under names that all installations shared, as `regenerate/regenerate`.

A move deletes those that belong to the installation, because their schedule would start runs again.
"""

from dataclasses import dataclass

from prefect.client.orchestration import SyncPrefectClient

from config.installation_names import COMMON_TAG
from deploy.changes import Change
from deploy.owned import (
    SCHEDULED_FLOW,
    SUBFLOWS,
    Deployments,
    Registration,
    find_home,
    read_deployments,
)

OLD_NAMES = [f"{flow}/{flow}" for flow in (SCHEDULED_FLOW, *SUBFLOWS)]
OLD_POOLS = ("cpu", "gpu")


@dataclass(frozen=True)
class OldDeployments:
    """The deployments of earlier versions on the server."""

    own: Deployments
    """Those of this installation: the same folder and, for the schedule, the same configuration."""
    others: Deployments

    def report(self, client: SyncPrefectClient, *, moves: bool) -> list[Change]:
        """Delete those of this installation if it moves, and return what was done and what is left."""
        changes = []
        for name, deployment in self.own.items():
            if moves:
                client.delete_deployment(deployment.id)
            note = "of an earlier version" + ("" if moves else "; --move deletes it")
            changes.append(Change("deleted" if moves else "left", f"deployment {name}", note))
        for name, deployment in self.others.items():
            file = deployment.parameters.get("config_file")
            note = f"of an earlier version, in {find_home(deployment)}" + (f", runs {file}" if file else "")
            changes.append(Change("left", f"deployment {name}", note))
        if self.own:
            used = {deployment.work_pool_name for deployment in self.own.values()}
            for pool in (each for each in OLD_POOLS if each in used):
                note = f"`prefect work-pool delete {pool}`, if nobody else uses it"
                changes.append(Change("left", f"pool {pool}", note))
        return changes


def find_old_deployments(client: SyncPrefectClient, registration: Registration) -> OldDeployments:
    """Return the deployments that earlier versions registered."""
    found = read_deployments(client, OLD_NAMES)
    # A deployment of another team has no such tag.
    found = {name: each for name, each in found.items() if COMMON_TAG in each.tags}
    own = {
        name: each
        for name, each in found.items()
        if registration.has_home_of(each) and registration.has_config_of(each)
    }
    # While its `regenerate` runs another configuration, the deployments that it starts are needed.
    if any(name.startswith(SCHEDULED_FLOW) for name in found.keys() - own.keys()):
        own = {}
    return OldDeployments(own, {name: each for name, each in found.items() if name not in own})


def keep_pause(client: SyncPrefectClient, old: OldDeployments, new: Deployments) -> None:
    """Pause the new schedule if the old one is paused."""
    before, after = old.own.get(OLD_NAMES[0]), next(iter(new.values()))
    if before is None or (not before.paused and any(each.active for each in before.schedules)):
        return
    for schedule in after.schedules:
        client.update_deployment_schedule(after.id, schedule.id, active=False)

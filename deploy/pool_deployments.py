"""Deployments of the flows that load a model, for the work pools that models name.

A deployment belongs to one pool, so these are copies of the deployments for the default pool, which
prefect.yaml defines.
"""

from prefect.client.orchestration import SyncPrefectClient

from deploy.owned import Registration


def deploy_to_pools(client: SyncPrefectClient, registration: Registration) -> None:
    """Create the deployment of each of these flows for each pool, or update it in place."""
    installation = registration.installation
    for flow, name, pool in registration.pool_names:
        source = client.read_deployment_by_name(f"{flow}/{installation.name_subflow()}")
        client.create_deployment(
            source.flow_id,
            name,
            version=source.version,
            work_pool_name=installation.name_pool(pool),
            parameters=source.parameters,
            description=source.description,
            tags=source.tags,
            path=source.path,
            entrypoint=source.entrypoint,
            parameter_openapi_schema=source.parameter_openapi_schema,
            pull_steps=source.pull_steps,
            enforce_parameter_schema=source.enforce_parameter_schema,
            job_variables=source.job_variables,
        )

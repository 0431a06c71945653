"""Registration of the flows with a Prefect server: work pools, deployments, automations."""

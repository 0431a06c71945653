"""Registration of the flows with a Prefect server, and the services of an installation."""

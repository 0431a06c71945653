"""An installation without containers: its services as processes of this machine. It never imports Prefect."""

"""What runs: one Prefect flow a file; its body reads as the list of stages."""

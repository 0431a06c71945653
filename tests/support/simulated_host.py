"""Hosts with cards: a stand-in for nvidia-smi prints what a driver would say."""

from pathlib import Path

H100 = "NVIDIA H100 80GB HBM3, 580.95.05, 9.0, 81559, 81000"
A100 = "NVIDIA A100-SXM4-80GB, 580.95.05, 8.0, 81920, 81000"
T4 = "Tesla T4, 580.95.05, 7.5, 15360, 15000"
V100 = "Tesla V100-SXM2-32GB, 580.95.05, 7.0, 32768, 32000"
K620 = "Quadro K620, 580.95.05, 5.0, 2048, 2000"
VGPU = "GRID A100D-20C, 580.95.05, [N/A], 20480, 20000"
GB10 = "NVIDIA GB10, 580.95.05, 12.1, [N/A], [N/A]"
OLD = A100.replace("580.95.05", "550.54.15")


def write_program(path: Path, script: str = "") -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def list_cards(*rows: str) -> str:
    """Return a script that prints the rows; those of the chosen cards if the driver is asked for some."""
    cases = "\n".join(f"{k}) echo '{row}, {k}, GPU-{k}' ;;" for k, row in enumerate(rows))
    chosen = ",".join(map(str, range(len(rows))))
    return (
        f"chosen=${{3:---id={chosen}}}; IFS=,; for k in ${{chosen#--id=}}; do case $k in\n{cases}\nesac; done"
    )

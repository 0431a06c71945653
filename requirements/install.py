"""Install pinned lists of packages by uv, with the settings that the user made for pip.

pip installs uv (requirements/uv.txt) into the environment whose Python runs this script. uv reads neither
pip's files nor its variables PIP_*, so their settings are translated. The user's variables UV_* have
precedence. pip installs the lists where no build of uv fits, or where a setting has no counterpart in uv. The
script imports only the standard library and pip.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pip._vendor.certifi import where
from pip._vendor.packaging.requirements import InvalidRequirement, Requirement

FOLDER = Path(__file__).parent
UV = Path(sys.executable).with_name("uv")
PIP = [sys.executable, "-m", "pip"]
PYTORCH_INDEX = "https://download.pytorch.org/whl/cpu"
TORCH_LIST = "torch.txt"
OWN_PROJECT = "."
INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell gives it."""

# Setting of pip -> variable of uv, where the value needs no more than its spaces tidied up.
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "client-cert": "SSL_CLIENT_CERT",
    "retries": "UV_HTTP_RETRIES",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the lists, and return the exit status."""
    try:
        return install_lists(parse_arguments(arguments))
    except KeyboardInterrupt:
        print("The installation was interrupted; run the same command again to complete it.", file=sys.stderr)
        return INTERRUPTED


def install_lists(options: argparse.Namespace) -> int:
    """Install the lists, and return the exit status; an interrupt is raised."""
    settings = read_pip_settings()
    if problems := list(find_contradictions(settings, [Path(name) for name in options.lists])):
        print("\n".join(problems), file=sys.stderr)
        return 1
    if options.into and not (options.into / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", options.into], check=True)
    try:
        install = choose_installer(options, settings)
        for name in options.lists:
            print(f"installing {'the project' if name == OWN_PROJECT else name}", flush=True)
            if name == OWN_PROJECT:
                install.run("--no-build-isolation", "-e", name)
            else:
                index = choose_torch_index(Path(name)) if Path(name).name == TORCH_LIST else None
                install.run("--require-hashes", "-r", name, index=index)
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    except InstallationError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


class InstallationError(Exception):
    """The installation cannot be completed. The message gives the reason and the remedy."""


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "lists", nargs="+", help="files with pinned versions and hashes; . is the project itself"
    )
    parser.add_argument("--into", type=Path, metavar="ENV", help="another environment, created if missing")
    parser.add_argument("--target", type=Path, metavar="FOLDER", help="a folder for the files of wheels")
    parser.add_argument("--with-pip", action="store_true", help="do not use uv")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class Installer:
    """A program that installs lists, with its options and variables."""

    command: Sequence[str]
    variables: Mapping[str, str]
    index_option: str

    def run(self, *arguments: str, index: str | None = None) -> None:
        """Install, with another index in place of the configured one if it is given.

        Raises:
            subprocess.CalledProcessError: the program failed, and said why.
        """
        chosen = [self.index_option, index] if index else []
        subprocess.run([*self.command, *chosen, *arguments], env=os.environ | self.variables, check=True)


def choose_installer(options: argparse.Namespace, settings: Mapping[str, str]) -> Installer:
    """Return uv if it can be installed and can follow pip's settings, and else pip."""
    common = ["--quiet", "--no-deps"]
    if options.target:
        common += ["--target", str(options.target), "--only-binary", ":all:"]
    into = ["--python", str(options.into / "bin/python") if options.into else sys.executable]
    # uv reads no constraints from a network beside hashes.
    is_for_pip = options.with_pip or "://" in settings.get("constraint", "")
    if not is_for_pip and provide_uv():
        translated = translate(settings, os.environ)
        command = [str(UV), "pip", "install", *into, *common, *translated.options]
        return Installer(command, translated.variables, "--default-index")
    common += [] if os.environ.get("UV_COMPILE_BYTECODE") else ["--no-compile"]
    return Installer([*PIP, *into, "install", *common], {}, "--index-url")


def provide_uv() -> bool:
    """Install the pinned uv unless it is there, and return whether it is."""
    pinned = read_pins(FOLDER / "uv.txt")["uv"]
    try:
        if version("uv") == pinned and UV.exists():
            return True
    except PackageNotFoundError:
        pass
    # A source distribution of uv would be built for many minutes, with a compiler.
    options = ["--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes"]
    done = subprocess.run([*PIP, "install", *options, "-r", str(FOLDER / "uv.txt")], check=False)
    if done.returncode != 0:
        print("pip offers no build of uv here, so pip installs all packages, which takes longer", flush=True)
    return done.returncode == 0


def read_pip_settings() -> dict[str, str]:
    """Return the settings of `pip install` from pip's files and variables; pip merges the files itself."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    values = {name: str(ast.literal_eval(value)) for name, _, value in lines}
    settings: dict[str, str] = {}
    for section in ("global.", "install.", ":env:."):
        chosen = {
            name.removeprefix(section): value for name, value in values.items() if name.startswith(section)
        }
        settings |= {name: " ".join(value.split()) for name, value in chosen.items() if value.strip()}
    return settings


@dataclass
class UvSettings:
    """Variables and options of `uv pip install`."""

    variables: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)


def translate(settings: Mapping[str, str], environment: Mapping[str, str]) -> UvSettings:
    """Return pip's settings as those of uv, without the variables that the user has set for uv itself."""
    # pip takes the best version of all indexes, and uv that of the first index with the package. Hashes make
    # both safe.
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    variables |= {VARIABLES[name]: value for name, value in settings.items() if name in VARIABLES}
    if "UV_HTTP_TIMEOUT" in variables:
        variables["UV_HTTP_TIMEOUT"] = str(max(1, round(float(variables["UV_HTTP_TIMEOUT"]))))
    if proxy := settings.get("proxy"):
        variables |= {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy}
    if settings.get("keyring-provider") == "subprocess":
        variables["UV_KEYRING_PROVIDER"] = "subprocess"
    # For pip, every value of this setting disables the cache.
    if "no-cache-dir" in settings:
        variables["UV_NO_CACHE"] = "1"
    elif folder := settings.get("cache-dir"):
        variables["UV_CACHE_DIR"] = str(Path(folder).expanduser() / "uv")
    options: list[str] = []
    for name in ("find-links", "no-binary", "only-binary"):
        separator = None if name == "find-links" else ","
        values = settings.get(name, "").split(separator)
        options += [f"--{name}={value.strip()}" for value in values if value.strip()]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "y", "on", "t"):
        options.append("--no-index")
    own = {name: value for name, value in variables.items() if not environment.get(name)}
    return UvSettings(own | choose_certificates(settings, environment), options)


def choose_certificates(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name the certificates which pip trusts."""
    if certificate := settings.get("cert"):
        names = ("SSL_CERT_DIR", "SSL_CERT_FILE")
        chosen, other = names if Path(certificate).is_dir() else reversed(names)
        # uv would trust both.
        return {chosen: certificate, other: ""}
    if environment.get("SSL_CERT_FILE") or environment.get("SSL_CERT_DIR"):
        return {}
    # Debian's pip brings no certificates of its own, and trusts those of the system.
    named = (environment.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
    return {"SSL_CERT_FILE": next(filter(None, named), where())}


def read_pins(path: Path) -> dict[str, str]:
    """Return package -> version of a list."""
    return dict(re.findall(r"(?m)^([a-z0-9-]+)==(\S+)", path.read_text(encoding="utf-8")))


def find_contradictions(settings: Mapping[str, str], lists: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence for each pinned version that a constraint of the user forbids.

    Beside hashes, uv refuses constraints other than ==. An exact version can only meet a constraint or not.
    """
    named = settings.get("constraint", "").split()
    for constraints in (Path(name) for name in named if "://" not in name):
        if not constraints.is_file():
            yield f"{constraints}, which pip's setting `constraint` names, is no file; correct the setting."
            continue
        for line in constraints.read_text(encoding="utf-8").splitlines():
            try:
                constraint = Requirement(line.partition(" #")[0].strip())
            except InvalidRequirement:
                continue  # a comment, an option, or nothing
            name = re.sub(r"[-_.]+", "-", constraint.name).lower()
            for path in lists:
                pinned = read_pins(path).get(name) if path.is_file() else None
                is_meant = constraint.marker is None or constraint.marker.evaluate()
                if pinned and is_meant and not constraint.specifier.contains(pinned, prereleases=True):
                    yield (
                        f"{path} pins {name} {pinned}, and {constraints} allows only "
                        f"{name}{constraint.specifier}; change that file or pip's setting `constraint`."
                    )


def choose_torch_index(path: Path) -> str | None:
    """Return the index with the CPU build of torch; None if the configured one offers it.

    The variable TORCH_INDEX names the index. Without it, the configured index is asked whether it offers the
    pinned version, and if it does not, the build comes from the PyTorch project's own index. A question that
    fails ends the installation: another index is never tried because of an error.

    Raises:
        InstallationError: the configured index does not answer.
    """
    if index := os.environ.get("TORCH_INDEX"):
        return index
    pinned = read_pins(path)["torch"]
    asked = subprocess.run([*PIP, "index", "versions", "torch"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        raise InstallationError(
            f"{asked.stderr.strip()}\nThe package index does not say which versions of torch it has. Correct "
            f"the index or the network, or set TORCH_INDEX to the index that has torch {pinned}."
        )
    # The next line names the version that is installed.
    offered = re.findall(r"[\w.+!]+", asked.stdout.partition("Available versions:")[2].partition("\n")[0])
    return None if pinned in offered else PYTORCH_INDEX


if __name__ == "__main__":
    sys.exit(main())

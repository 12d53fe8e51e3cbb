"""All checks on the real machine."""

import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from packaging.requirements import Requirement

import collegium.llm.adapters as adapters
from collegium.llm.models import cache_root, find_default_model
from collegium.service.doctor import assets, machine, software
from collegium.service.doctor.check import Diagnosis
from collegium.service.doctor.database import check_database
from collegium.service.doctor.machine import Process

if TYPE_CHECKING:
    from collegium.store.status import DatabaseStatus


def diagnose() -> Diagnosis:
    """Run every check; takes a second or two, most of it for hashing the model."""
    cache = cache_root()
    return Diagnosis(
        checks=(
            software.check_python(sys.version_info[:2]),
            software.check_packages(_requirements(), _version),
            software.check_companions(_version),
            software.check_engine(_version, _folder("vllm"), cuda=_has_cuda()),
            assets.check_model(find_default_model),
            assets.check_adapters(Path(adapters.__file__).parent),
            assets.check_games(None),
            assets.check_embedder(),
            check_database(_look_at_database),
            machine.check_disk(cache, shutil.disk_usage(_existing(cache)).free),
            machine.check_memory(psutil.virtual_memory().available),
            machine.check_threads(os.environ.get("OMP_NUM_THREADS"), _cores()),
            machine.check_processor(_processor_flags()),
            machine.check_processes(_processes()),
        )
    )


def _requirements() -> list[Requirement]:
    return [Requirement(text) for text in metadata.requires("collegium") or ()]


def _look_at_database() -> "DatabaseStatus":
    from collegium.store.settings import DatabaseSettings

    settings = DatabaseSettings.from_environment()
    from collegium.store.status import look

    return look(settings)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _folder(module: str) -> Path | None:
    spec = util.find_spec(module)
    return Path(spec.origin).parent if spec and spec.origin else None


def _has_cuda() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor_flags() -> frozenset[str]:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return frozenset()
    lines = info.read_text(encoding="utf-8").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())


def _processes() -> Iterator[Process]:
    for process in psutil.process_iter(["name", "cmdline"]):
        info = process.info
        yield Process(process.pid, " ".join([info["name"] or "", *(info["cmdline"] or ())]))

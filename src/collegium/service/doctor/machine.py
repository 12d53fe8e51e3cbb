"""Disk, memory, threads, processor and stray processes."""

from collections.abc import Iterable, Set
from pathlib import Path
from typing import NamedTuple

from collegium.service.doctor.check import Check, failed, passed, warned

GIB = 2**30
MIN_DISK = 5 * GIB
MIN_MEMORY = 6 * GIB
_STRAYS = ("VLLM::", "EngineCore", "ray::", "raylet", "gcs_server")


class Process(NamedTuple):
    """A running process."""

    pid: int
    command: str
    """Its name and arguments."""


def check_disk(path: Path, free: int) -> Check:
    """Check the free bytes where checkpoints are cached."""
    found = f"{free / GIB:.0f} GiB free at {path}"
    if free >= MIN_DISK:
        return passed("disk", found)
    remedy = f"free {MIN_DISK // GIB} GiB there, or point COLLEGIUM_CACHE at another disk"
    return failed("disk", found, remedy)


def check_memory(available: int) -> Check:
    """Check the bytes of memory that an engine can have."""
    found = f"{available / GIB:.1f} GiB available"
    if available >= MIN_MEMORY:
        return passed("memory", found)
    return failed("memory", found, f"end other programs: one engine needs {MIN_MEMORY // GIB} GiB")


def check_threads(setting: str | None, cores: int) -> Check:
    """Check OMP_NUM_THREADS (`setting`, None if unset) against the cores this process may use."""
    if setting is None:
        return passed("threads", f"OMP_NUM_THREADS is unset: all {cores} cores")
    found = f"OMP_NUM_THREADS={setting}, {cores} cores"
    if not setting.isdigit() or not 1 <= int(setting) <= cores:
        return warned("threads", found, f"unset OMP_NUM_THREADS, or set it to 1 … {cores}")
    if int(setting) < cores:
        return warned("threads", f"{found}: the others stay idle", "unset OMP_NUM_THREADS")
    return passed("threads", found)


def check_processor(flags: Set[str]) -> Check:
    """Say which vector instructions vLLM's CPU kernels find here."""
    known = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    found = [flag for flag in known if flag in flags]
    return passed("processor", ", ".join(found) or "no vector instructions known to vLLM")


def check_processes(processes: Iterable[Process]) -> Check:
    """Say which engines and Ray daemons are running: of a run now going on, or left by one."""
    strays = [p for p in processes if any(mark in p.command for mark in _STRAYS)]
    if not strays:
        return passed("processes", "no engine or Ray process is running")
    pids = " ".join(str(p.pid) for p in strays)
    return warned(
        "processes",
        f"{len(strays)} of engines or Ray are running",
        f"if no run is going on, a run was killed and left them: kill {pids}",
    )

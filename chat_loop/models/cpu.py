"""The processor's features for embedded models."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def lacks_avx2(cpuinfo: str) -> bool:
    """Return True when the text of Linux's /proc/cpuinfo names an x86 processor without AVX2."""
    flags = [line.split() for line in cpuinfo.splitlines() if line.startswith("flags")]
    return bool(flags) and not all("avx2" in names for names in flags)


def runs_embedded_models() -> bool:
    """Return False when instructions of the runtime are missing; it would die of SIGILL."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        return True
    return not lacks_avx2(_read("/proc/cpuinfo"))


def usable_cores() -> int:
    """Return the physical cores that this process may use, by affinity and cgroup quota."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        place = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
        cores = len({_read(place.format(cpu)) or str(cpu) for cpu in os.sched_getaffinity(0)})
    return max(1, min(cores, quota(_read("/sys/fs/cgroup/cpu.max")) or cores))


def quota(cpu_max: str) -> int | None:
    """Return the cores that a cgroup-2 `cpu.max` file grants, rounded up; None without a limit."""
    limit, _, period = cpu_max.strip().partition(" ")
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None
    return max(1, -(-int(limit) // int(period)))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

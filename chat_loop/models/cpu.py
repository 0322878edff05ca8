"""What this machine's processor can do for an embedded model."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_TOPOLOGY = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def lacks_avx2(cpuinfo: str) -> bool:
    """True when the text of Linux's /proc/cpuinfo names an x86 processor without AVX2."""
    flags = [
        line.partition(":")[2].split() for line in cpuinfo.splitlines() if line.startswith("flags")
    ]
    return bool(flags) and not all("avx2" in names for names in flags)


def runs_embedded_models() -> bool:
    """False when the runtime's instructions are known to be missing; it would die of SIGILL, not
    raise.
    """
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        return True
    return not lacks_avx2(_read(_CPUINFO))


def usable_cores() -> int:
    """Physical cores this process may use, at least 1: without SMT siblings, within affinity and
    cgroup quota.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
        siblings = {
            _read(_TOPOLOGY / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
            for cpu in allowed
        }
        cores = len(siblings)
    else:
        cores = os.cpu_count() or 1
    return max(1, min(cores, quota(_read(_QUOTA)) or cores))


def quota(cpu_max: str) -> int | None:
    """The cores that a cgroup-2 `cpu.max` file grants, rounded up; None without a limit."""
    limit, _, period = cpu_max.strip().partition(" ")
    if not (limit.isdigit() and period.isdigit() and int(period)):
        return None
    return max(1, -(-int(limit) // int(period)))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

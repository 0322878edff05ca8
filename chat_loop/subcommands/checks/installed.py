"""What is installed: Python, the packages that the program needs, and those of its extras."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib import metadata

from msgspec import Struct

from chat_loop import __version__
from chat_loop.subcommands.checks.finding import Finding, bad, doubtful, good
from chat_loop.wording import install_hint

NAME = "chat-loop"
EXTRAS = {
    "local": "the embedded model",
    "search": "searching by meaning",
    "mcp": "MCP servers",
    "bedrock": "Amazon Bedrock",
}
"""The extras that a user may want, and what each is for."""
_NEED = re.compile(r"([A-Za-z0-9][\w.-]{0,100})(?:\[[^\]]{0,100}\])?([^;]{0,200})(?:;(.{0,200}))?")
_LEAST = re.compile(r"(?:>=|==)([0-9][0-9.]{0,20})")
_EXTRA = re.compile(r"extra == ['\"](\w{1,40})['\"]")


class Need(Struct, frozen=True):
    """A package that is needed: by the program, or by one of its extras. `least` is the oldest
    version that does.
    """

    package: str
    least: str
    extra: str


def need_of(line: str) -> Need | None:
    """Read a requirement as a package's metadata has it; None for what is none."""
    found = _NEED.match(line)
    if found is None:
        return None
    least, extra = _LEAST.search(found.group(2)), _EXTRA.search(found.group(3) or "")
    return Need(found.group(1), least.group(1) if least else "", extra.group(1) if extra else "")


def version_of(package: str) -> str:
    """The installed version, "" when it is not installed."""
    try:
        return metadata.version(package) or "of an unknown version"
    except metadata.PackageNotFoundError:
        return ""


def older(version: str, least: str) -> bool:
    """Whether a version is below another, by its leading numbers."""
    return _numbers(version) < _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d{1,9}(?:\.\d{1,9}){0,5}", version)
    numbers = [int(part) for part in leading.group().split(".")] if leading else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def installed() -> Iterator[Finding]:
    """Yield Python, the packages, and the extras."""
    yield good(
        "Python",
        f"{platform.python_version()}, {platform.system()} {platform.release()} "
        f"{platform.machine()}",
    )
    try:
        lines = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        yield doubtful(
            NAME, f"{__version__}, not installed as a package: what it needs is not known."
        )
        return
    needs = [need for need in map(need_of, lines) if need is not None]
    yield good(NAME, __version__)
    yield _packages([need for need in needs if not need.extra])
    yield from _extras(needs)


def _packages(needs: list[Need]) -> Finding:
    faults = list(filter(None, map(_fault, needs)))
    if faults:
        return bad("Packages", f"{', '.join(faults)}.", "pip install --upgrade chat-loop")
    return good(
        "Packages", ", ".join(f"{need.package} {version_of(need.package)}" for need in needs)
    )


def _fault(need: Need) -> str:
    version = version_of(need.package)
    if not version:
        return f"{need.package} is missing"
    return (
        f"{need.package} {version} is older than {need.least}" if older(version, need.least) else ""
    )


def _extras(needs: list[Need]) -> Iterator[Finding]:
    there, missing = [], []
    for extra, purpose in EXTRAS.items():
        own = [need for need in needs if need.extra == extra]
        faults = list(filter(None, map(_fault, own)))
        if (
            own
            and len(faults) == len(own)
            and all(fault.endswith("is missing") for fault in faults)
        ):
            missing.append(f"{extra} ({purpose})")
        elif faults:
            yield doubtful(
                f"Extra {extra}",
                f"{', '.join(faults)}.",
                f"pip install --upgrade 'chat-loop[{extra}]'",
            )
        elif own:
            there.append(
                f"{extra} "
                f"({', '.join(f'{need.package} {version_of(need.package)}' for need in own)})"
            )
    if there:
        yield good("Extras", ", ".join(there))
    if missing:
        first = missing[0].partition(" ")[0]
        yield good("Not installed", ", ".join(missing), f"For example: {install_hint(first)}")

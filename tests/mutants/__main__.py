"""Put known bugs back, one by one, and run the tests that must catch each:
`python -m tests.mutants [--only NAME]... [--jobs N] [--table FILE]`.

Everything happens in copies of the project, with an environment of their own, so that the programs
that tests start have the bug, too. First the tests must pass without any bug. The exit code is 1
when a bug is not caught, and 2 when it could not be tried.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, NamedTuple

from tests.mutants.mutants import ROOT, Mutant, load

LONGEST = 600.0  # seconds of the tests of one mutant, on a machine with other work, too
EXAMPLES = ("--hypothesis-profile=gate", "--hypothesis-seed=0")
"""As many as in the gate, and the same ones tomorrow."""
_FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
_IGNORED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "results")
HEADING, END = "<!-- mutants -->\n", "<!-- end of mutants -->\n"
"""The lines around the table in a page."""


class Verdict(NamedTuple):
    """The outcome of a mutant: the test that caught it, and the seconds that took."""

    mutant: Mutant
    outcome: Literal["caught", "survived", "error"]
    seconds: float
    test: str = ""
    output: str = ""


class Copy:
    """A copy of the project with its own environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT, root, ignore=_IGNORED)
        # Programs that tests start find the copy by its interpreter, whatever their environment is.
        environment = root / ".venv"
        venv.EnvBuilder(symlinks=True).create(environment)
        scheme = {"base": str(environment), "platbase": str(environment)}
        packages = Path(sysconfig.get_path("purelib", "venv", scheme))
        paths = [str(root), *(path for path in sys.path if path.endswith("site-packages"))]
        (packages / "copy.pth").write_text("\n".join(paths) + "\n")
        self._bin = Path(sysconfig.get_path("scripts", "venv", scheme))
        script = self._bin / "chat-loop"
        script.write_text(f"#!{self._bin}/python\nfrom chat_loop.cli import main\nmain()\n")
        script.chmod(0o755)
        self._changes = 0

    def put(self, file: str, text: str) -> str:
        """Replace a file of the package; return its old text."""
        path = self.root / "chat_loop" / file
        before = path.read_text("utf-8")
        path.write_text(text, "utf-8")
        self._changes += 1  # a time of its own, so that no bytecode of another text is used
        os.utime(path, (self._changes, self._changes))
        return before

    def run(self, *arguments: str, seconds: float = LONGEST) -> tuple[int, str]:
        """Run tests; return pytest's exit code, -1 when they took too long, and its output."""
        command = [str(self._bin / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": ""}
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [*command, *EXAMPLES, *arguments],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = -1
            output.seek(0)
            return code, output.read().decode("utf-8", "replace")


def try_mutant(copy: Copy, mutant: Mutant) -> Verdict:
    """Run the tests of a mutant in a copy that has it."""
    began = time.monotonic()
    before = copy.put(mutant.file, mutant.apply(copy.root))
    try:
        code, output = copy.run("-x", *mutant.tests)
    finally:
        copy.put(mutant.file, before)
    seconds = time.monotonic() - began
    if code == 0:
        return Verdict(mutant, "survived", seconds, output=output)
    failed = _FAILED.search(output)
    if code != 1 or failed is None:
        return Verdict(mutant, "error", seconds, output=output)
    return Verdict(mutant, "caught", seconds, failed[1])


def try_all(mutants: list[Mutant], jobs: int, folder: Path) -> list[Verdict]:
    """Return the verdicts on mutants, in their order; each is printed as it comes."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(jobs):
        copies.put(Copy(folder / str(number)))

    def judge(mutant: Mutant) -> Verdict:
        copy = copies.get()
        try:
            verdict = try_mutant(copy, mutant)
        finally:
            copies.put(copy)
        detail = verdict.test or verdict.output
        print(f"{verdict.outcome:8} {verdict.seconds:5.1f} s  {mutant.name}  {detail}", flush=True)
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        return [*pool.map(judge, mutants)]


def baseline(mutants: list[Mutant], jobs: int, folder: Path) -> str:
    """Run all their tests without any mutant; return the output when one fails, else nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    code, output = Copy(folder / "baseline").run("-n", str(jobs), *tests, seconds=6 * LONGEST)
    return output if code else ""


def table(verdicts: list[Verdict]) -> str:
    """Return the verdicts as a table in markdown."""
    lines = ["| known bug | what it did | caught by | seconds |", "|---|---|---|---|"]
    for mutant, outcome, seconds, test, _ in verdicts:
        shown = f"`{test.removeprefix('tests/').partition('[')[0]}`" if test else outcome
        lines.append(f"| {mutant.name} | {mutant.damage} | {shown} | {seconds:.0f} |")
    return "\n".join([*lines, ""])


def write_table(page: Path, text: str) -> None:
    """Put the table between its two lines in a page."""
    before, _, rest = page.read_text("utf-8").partition(HEADING)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{page} has no line {HEADING.strip()}, or none {END.strip()} behind it.")
    page.write_text(f"{before}{HEADING}\n{text}\n{END}{after}", "utf-8")


def main() -> int:
    """Try the mutants; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--table", type=Path, metavar="FILE", help="a page that has the table")
    options = parser.parse_args()
    mutants = [one for one in load() if not options.only or one.name in options.only]
    if missing := {*options.only} - {one.name for one in mutants}:
        parser.error(f"no mutant named {', '.join(sorted(missing))}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        if output := baseline(mutants, options.jobs, Path(folder)):
            print(output, "The tests fail without any mutant.", sep="\n")
            return 2
        print(f"baseline {time.monotonic() - began:5.1f} s", flush=True)
        verdicts = try_all(mutants, options.jobs, Path(folder))
    outcomes = [verdict.outcome for verdict in verdicts]
    counts = ", ".join(f"{outcomes.count(name)} {name}" for name in ("caught", "survived", "error"))
    print(f"{len(verdicts)} mutants: {counts}; {time.monotonic() - began:.0f} s")
    if options.table:
        write_table(options.table, table(verdicts))
    return 2 if "error" in outcomes else int("survived" in outcomes)


if __name__ == "__main__":
    sys.exit(main())

"""The continued tasks in the form of the other results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.continued.__main__ import main
from benchmarks.continued.script import NAMES, read
from benchmarks.continued.table import FOLDER, finished
from benchmarks.support.results import NotMeasured, Results, Settings


def run(results: Results, settings: Settings) -> None:
    """Measure what has no result yet. Each task with each arm is a file in `continued/`."""
    if settings.model is None:
        raise NotMeasured("It needs an embedded model: --model FILE.gguf.")
    arguments = ["--model", str(settings.model), "--folder", str(settings.folder / FOLDER)]
    if settings.progress is not None:
        arguments += ["--progress", str(settings.progress)]
    if main(arguments):
        raise NotMeasured("The model did not answer.")
    add_solved(results, settings.folder)


def add_solved(results: Results, folder: Path) -> None:
    """Add the number of tasks that each arm solved, and say which have no result."""
    tasks = [task.name for name in NAMES for task in read(name).tasks]
    for arm, found in finished(folder).items():
        missing = [task for task in tasks if task not in found]
        if missing:
            results.skip(f"tasks, {arm}", f"No result: {', '.join(missing)}.")
        if found:
            solved = sum(each.solved for each in found.values())
            results.add(f"tasks solved, {arm}", [solved], f"of {len(found)}")

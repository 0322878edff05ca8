"""Finish tasks after several compactions: `python -m benchmarks.continued [CONVERSATION …]`.

Each task with each arm is a file of the results, and each answer of the model is a file in the
folder of `--progress`. What is there is not done again, so a run that was interrupted continues.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from benchmarks.continued.arms import ANSWER_TOKENS, ARMS, NONE, SYSTEM, WHOLE, before, play
from benchmarks.continued.check import failure
from benchmarks.continued.script import NAMES, Task, path_of, read, slug, turns
from benchmarks.embedded.contexts import Chat, Count
from benchmarks.embedded.model import Greedy, Recorded, complete
from benchmarks.embedded.run import tell
from benchmarks.support.results import RESULTS, origin, parser
from chat_loop.config import find_paths
from chat_loop.errors import ChatLoopError
from chat_loop.providers import Provider
from chat_loop.providers.models import store
from chat_loop.tokens import TokenCounter
from chat_loop.values import Message, Request, Window

WINDOW, LARGE = 4_096, 32_768
"""Tokens of the model's window, and of the one in which the whole conversation fits."""
THREADS = 2
PATIENCE_SECONDS = 900
"""The time that an answer may take."""
FOLDER = RESULTS / "continued"


def main(arguments: Sequence[str] | None = None) -> int:
    """Finish the tasks and write a file for each of them and each arm."""
    options_parser = parser("continued", __doc__)
    add = options_parser.add_argument
    add("names", nargs="*", metavar="CONVERSATION", help=f"one of {', '.join(NAMES)}; default: all")
    add("--arms", default=",".join(ARMS), help="default: %(default)s")
    add("--model", default=store.QWEN_1_5B.name, help="an installed embedded model, or its file")
    add("--progress", type=Path, metavar="FOLDER", help="where the model's answers are kept")
    add("--folder", type=Path, default=FOLDER, help="where the results are kept")
    options = options_parser.parse_args(arguments)
    counter = TokenCounter()
    counter.load()
    count = lru_cache(None)(counter.count)
    folder = options.folder.absolute()
    with contextlib.ExitStack() as stack:
        progress = options.progress or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        progress.mkdir(parents=True, exist_ok=True)
        try:
            path = store.resolve(find_paths().models, options.model).absolute()
            # the requests contain the folder's name, so it must be the same in every run
            stack.enter_context(contextlib.chdir(progress))
            for arm in options.arms.split(","):
                for name in options.names or NAMES:
                    asyncio.run(_run(path, name, arm, folder / name, count))
        except ChatLoopError as error:
            tell(f"{error.message} {error.hint}")
            return 2
        except KeyboardInterrupt:
            tell("Interrupted. Start again to continue.")
            return 130
        except OSError as error:
            tell(f"A file cannot be read or written: {error}. Start again to continue.")
            return 2
    return 0


def _left(tasks: Sequence[Task], folder: Path, arm: str) -> list[Task]:
    """Return the tasks that have no result yet."""
    folder.mkdir(parents=True, exist_ok=True)
    return [task for task in tasks if not path_of(folder, task, arm).exists()]


def _keep_context(messages: Sequence[Message], path: Path) -> None:
    """Write what an arm sends before the last message."""
    text = "\n\n".join(f"# {message.role}\n\n{message.text}" for message in messages[:-1])
    path.write_text(f"{text}\n", "utf-8")


def _keep_sessions(talk: Path, folder: Path) -> None:
    """Copy the sessions of a conversation, without the index and the locks of their folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(talk, folder, ignore=shutil.ignore_patterns(".*"))


async def _run(path: Path, name: str, arm: str, folder: Path, count: Count) -> None:
    """Finish the tasks of a conversation with one arm."""
    tasks = read(name).tasks
    left = _left(tasks, folder, arm)
    tell(f"{name}, {arm}: {len(left)} of {len(tasks)} tasks are left")
    if not left:
        return
    window = Window(LARGE if arm == WHOLE else WINDOW)
    model = Recorded(Greedy(path, path.stem, window, threads=THREADS), Path("answers"))
    said = turns(name, tasks)
    chat = None
    try:
        if arm not in (NONE, WHOLE):
            shutil.rmtree(name, ignore_errors=True)
            chat = await play(model, Path(name), count, said)
            _keep_sessions(Path(name), folder / "sessions")
        for task in left:
            messages = await before(arm, task.ask, model, chat, said, count)
            if arm != NONE:
                _keep_context(messages, folder / f"{slug(arm)}.md")
            request = Request(system=SYSTEM, messages=messages, max_tokens=ANSWER_TOKENS)
            await _finish(model, request, task, path_of(folder, task, arm), chat)
    finally:
        await model.close()
        if chat is not None:
            chat.conversation.close()


async def _finish(
    model: Provider, request: Request, task: Task, path: Path, chat: Chat | None
) -> None:
    """Ask for the result of a task, check it, and write it down."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer, prompt = await complete(model, request)
    except TimeoutError:
        tell(f"{task.name}: not measured, the model did not end in {PATIENCE_SECONDS} s")
        return
    why = failure(answer, task.check)
    tell(f"{task.name}: {why or 'solved'}")
    about = origin()
    result = {
        "commit": about.commit,
        "date": about.date,
        "model": model.model,
        "window": model.window.tokens,
        "solved": not why,
        "why": why,
        "answer": answer,
        "prompt_tokens": prompt,
        "compactions": len(chat.compactions) if chat else 0,
        "asked": request.messages[-1].text,
    }
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    unfinished.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())

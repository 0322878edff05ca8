"""Packages that add providers, commands, tools and exporters to the program.

A package names a function in the entry-point group `chat_loop.plugins`. The function is called with
a `Plugin`, and adds things to it. Plugins load in the background, or when a name that the program
does not know is needed. A plugin that fails adds nothing, and its `problem` says why.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.agent.isolation import CapturedError, describe
from chat_loop.agent.tools import Tool
from chat_loop.config import Config, Paths
from chat_loop.errors import ChatLoopError, ProviderError
from chat_loop.events import Event
from chat_loop.providers import Provider
from chat_loop.providers.choose import Machine, this_machine
from chat_loop.sessions.records import Session
from chat_loop.values import Request, Window
from chat_loop.watchdog import LOOK_SECONDS, Watchdog

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "chat_loop.plugins"
SWITCHED_OFF = "Switched off."
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class PluginFailed(ChatLoopError):
    """The code of a plugin raised an error."""


class Exporter(Struct, frozen=True):
    """An export format: the suffix of its files, and the function that writes a document."""

    suffix: str
    write: Callable[[Sequence[Session]], bytes]


class Plugin(Struct):
    """The things that a plugin adds, by their names. `problem` says why it adds nothing."""

    name: str
    package: str
    problem: str = ""
    providers: dict[str, Callable[[str], Provider]] = field(default_factory=dict)
    commands: dict[str, Callable[..., Any]] = field(default_factory=dict)
    tools: dict[str, Callable[..., object]] = field(default_factory=dict)
    exporters: dict[str, Exporter] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """True when the plugin should have been loaded but was not."""
        return self.problem not in ("", SWITCHED_OFF)

    def add_provider(self, name: str, make: Callable[[str], Provider]) -> None:
        """Add a provider: `make` returns it for the model that the user names."""
        self.providers[_checked(name)] = make

    def add_command(self, usage: str, run: Callable[..., Any]) -> None:
        """Add a command of the chat, such as "shout TEXT". `run` is a coroutine function that takes
        the chat and the argument. Its docstring is the help; a text that it returns is sent.
        """
        _checked(usage.partition(" ")[0])

        @wraps(run)
        async def guarded(chat: object, argument: str, _: object) -> tuple[str, tuple[()]] | None:
            watchdog = Watchdog(asyncio.get_running_loop())
            try:
                with _guard(self.name), watchdog.watching():
                    text = await run(chat, argument)
            except KeyboardInterrupt:
                await asyncio.sleep(
                    LOOK_SECONDS
                )  # the chat stops the command when the loop answers
                raise PluginFailed(f"A command of the plugin {self.name} was stopped.") from None
            if text is None:
                return None
            return (str(text), ())

        self.commands[usage] = guarded

    def add_tool(self, function: Callable[..., object]) -> None:
        """Add a function that a model may call when the user names it with `--tools`."""
        self.tools[function.__name__] = function

    def add_exporter(
        self, name: str, suffix: str, write: Callable[[Sequence[Session]], bytes]
    ) -> None:
        """Add a format for exports. `write` returns a document of sessions, oldest first."""

        def guarded(sessions: Sequence[Session]) -> bytes:
            with _guard(self.name):
                return bytes(write(sessions))

        self.exporters[_checked(name)] = Exporter(f".{suffix.lstrip('.')}", guarded)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"“{name[:40]}” is not a name: up to 32 of a-z, 0-9, - and _")
    return name


class Plugins:
    """The plugins of the environment. The `switches` of the config can turn each one off."""

    def __init__(self, switches: Mapping[str, bool], *, load: bool = True) -> None:
        self._switches = switches
        self._lock = threading.Lock()
        self._plugins: list[Plugin] | None = None if load else []

    def all(self) -> list[Plugin]:
        """Return all plugins, sorted by name; load them at the first call."""
        with self._lock:
            if self._plugins is None:
                from importlib import metadata  # takes 10 ms, which would delay the prompt

                self._plugins = []
                with suppress(OSError):  # the disk fails, so there are none
                    found = sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
                    self._plugins = [self._load(entry) for entry in found]
            return self._plugins

    def _load(self, entry: EntryPoint) -> Plugin:
        package = ""
        if entry.dist:
            package = f"{entry.dist.name} {entry.dist.version}"
        plugin = Plugin(entry.name, package)
        if not self._switches.get(entry.name, True):
            return Plugin(entry.name, package, SWITCHED_OFF)
        with CapturedError() as captured:
            entry.load()(plugin)
        if captured.error is not None:
            return Plugin(entry.name, package, f"It failed: {describe(captured.error)}.")
        return plugin

    def provider(self, name: str, model: str) -> Provider | None:
        """Return the provider `name` of a plugin for `model`, or None. Raises PluginFailed."""
        for plugin in self.all():
            if make := plugin.providers.get(name):
                with _guard(plugin.name):
                    return _GuardedProvider(make(model), plugin.name)
        return None

    def machine(self, config: Config, paths: Paths) -> Machine:
        """Return the machine that models are chosen for, with the providers of plugins."""
        return this_machine(
            paths.models,
            discover=config.discover_servers,
            other=self.provider,
            others=lambda: {name: one.name for one in self.all() for name in one.providers},
        )

    def tools(self, names: Collection[str]) -> dict[str, Tool]:
        """Return the tools of plugins that have one of `names`. Raises ConfigError."""
        from chat_loop.agent.functions import tool_of  # loads pydantic

        tools = {}
        for plugin in self.all():
            for name, function in plugin.tools.items():
                if name in names:
                    origin = {"plugin": f"{plugin.name} of {plugin.package}"}
                    tools[name] = replace(tool_of(function), origin=origin)
        return tools

    def exporters(self) -> dict[str, Exporter]:
        """Return the formats of documents, by name."""
        exporters: dict[str, Exporter] = {}
        for plugin in self.all():
            exporters.update(plugin.exporters)
        return exporters


@contextmanager
def _guard(name: str) -> Iterator[None]:
    """Run the code of a plugin. Its faults become PluginFailed; other errors are unchanged."""
    with CapturedError() as captured:
        yield
    error = captured.error
    if error is None:
        return
    if isinstance(error, ChatLoopError) or not isinstance(error, Exception | SystemExit):
        raise error
    hint = f"Switch it off with plugins: {{{name}: false}} in the config, or --no-plugins."
    raise PluginFailed(f"The plugin {name} failed: {describe(error)}.", hint) from error


class _GuardedProvider:
    """A plugin's provider, whose faults are raised as ProviderError. It says of itself what the
    plugin's provider says, at any time, or else what `Provider` says.
    """

    name: str
    model: str
    window: Window
    first_event_seconds: float
    calls_tools: bool
    takes_images: bool
    endpoint = ""
    returns_opaque = False

    def __init__(self, provider: Provider, plugin: str) -> None:
        self._provider = provider
        self._plugin = plugin

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._provider, name):
            return getattr(self._provider, name)
        return getattr(Provider, name)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            with _guard(self._plugin):
                yield
        except PluginFailed as error:
            raise ProviderError(error.message, error.hint) from error

    def warm(self) -> None:
        with self._failures():
            getattr(self._provider, "warm", lambda: None)()

    def begin_session(self) -> None:
        with CapturedError():
            getattr(self._provider, "begin_session", lambda: None)()

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        with self._failures():
            async for event in self._provider.stream(request):
                yield event

    async def close(self) -> None:
        with CapturedError():
            await self._provider.close()

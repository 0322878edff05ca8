"""Commands for the model, its tools, agents and MCP servers, and for the shell. Asks the user
before a tool runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from chat_loop.agent import shell
from chat_loop.agent.agent_files import read_file
from chat_loop.agent.approval import Approval, ProjectApprovals, change_notice
from chat_loop.agent.registry import AgentRegistry
from chat_loop.agent.secret_gate import judged
from chat_loop.agent.tools import ASKED_AGAIN, MAX_RESULT, Tool
from chat_loop.characters import exact, exact_line
from chat_loop.commands.asking import ask
from chat_loop.commands.registry import NextQuery, OptionValues, pick, registry, usage_error
from chat_loop.display.questions import Question, parts_of
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, NoWorkingFolder, UsageError
from chat_loop.providers.choose import full_reference
from chat_loop.sessions.files import working_folder
from chat_loop.tokens import shorten
from chat_loop.values import plural, window_text

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import McpServers
    from chat_loop.agent.mcp_state import ServerState
    from chat_loop.commands.chat import Chat
    from chat_loop.display.manager import DisplayManager
    from chat_loop.input.lines import Reader

VERBS = {"write_file": "Apply", "edit_file": "Apply", "remember": "Save", "read_file": "Read"}
"""What a question calls the act of a tool, if not “run”."""
NO_AGENTS = "There are no named agents yet. chat-loop agents add NAME PATH adds one."
NO_SERVERS = ("There are no MCP servers.", "Add servers under mcp: in config.yaml.")


@registry.command("model [NAME]", "Model and tools")
async def model(chat: Chat, words: str, options: OptionValues) -> None:
    """Show the current model and the available ones, or switch to another.

    NAME is PROVIDER:MODEL, a provider's name for its default model, or another model of the
    current provider. What does not fit the new model's window is compacted before your next
    message.
    """
    conversation = chat.conversation
    display = chat.display
    now = conversation.agent.model
    if not words:
        await _list_models(chat, now)
        return
    if len(words.split()) > 1:
        raise usage_error("model")
    added = await asyncio.to_thread(chat.plugins.all)
    known = [*chat.models.providers, *(name for plugin in added for name in plugin.providers)]
    reference = full_reference(words, known, conversation.agent.provider.name)
    if reference == now:
        chat.model_is_chosen = True
        display.line(f"Already using {one_line(reference, 100)}.", "dim")
        return
    # this may ask a server for its models
    provider = await asyncio.to_thread(chat.models.provide, reference)
    async with AsyncExitStack() as unused:
        unused.push_async_callback(provider.close)
        await asyncio.to_thread(provider.warm)
        unused.pop_all()
    await conversation.switch(provider)
    chat.model_is_chosen = True
    if chat.memory is not None and chat.memory.fit(provider.window.tokens):
        conversation.remember()
    budget = conversation.budget
    window = window_text(budget.window.tokens, False)
    guessed = " (guessed)" if budget.window.guessed else ""
    text = f"Switched to {one_line(conversation.agent.model, 100)}."
    text += f" Context: ~{budget.share:.0%} of {window}{guessed}"
    if conversation.options.limits.enabled and budget.used >= conversation.frame.trigger:
        text += "; it is compacted before your next message"
    display.prose(f"{text}.", "dim")


async def _list_models(chat: Chat, now: str) -> None:
    offers = await asyncio.to_thread(chat.models.candidates)
    chat.display.line(f"Using {one_line(now, 100)}.")
    if others := {name: note for name, note in offers.items() if name != now}:
        chat.display.line("Also available (/model NAME):", "dim")
        width = min(max(map(len, others)), 60)
    for name, note in others.items():
        chat.display.line(f"  {one_line(name, 100):<{width}}  {note}".rstrip())


@registry.command("tools [revoke N]", "Model and tools", shows="")
async def tools(chat: Chat, words: str, options: OptionValues) -> None:
    """List the tools that the model may call, and the approvals kept for this project.

    /tools revoke 2         take the second approval back
    """
    if words:
        word, _, which = words.partition(" ")
        if word != "revoke":
            raise usage_error("tools")
        kept = _kept(chat)
        label, revoked = kept[pick("tools", [label for label, _ in kept], which)]
        chat.approvals.remove(revoked)
        chat.display.prose(f"Revoked: {label}. You will be asked again.", "dim")
        return
    agent = chat.conversation.agent
    for tool in agent.tools:
        scope = one_line(tool.approval_scope, 80)
        about = f"asks about {scope}" if scope else "asks first"
        asks = f" ({about})" if tool.preview is not None else ""
        about_it = one_line(tool.spec.description.strip().partition("\n")[0], 200)
        chat.display.prose(f"  {exact_line(tool.spec.name)}{asks}: {about_it}", indent=4)
    if not agent.tools:
        text = "The agent has no tools; agent.tools in the config, or --tools, gives it some."
        chat.display.prose(text)
    elif agent.tools_problem[0]:
        chat.display.warn(*agent.tools_problem)
    for number, (label, _) in enumerate(_kept(chat), 1):
        if number == 1:
            text = f"Approved for {chat.approvals.project} (/tools revoke N):"
            chat.display.prose(text, "dim")
        chat.display.prose(f"  {number}  {label}", indent=5)


def _kept(chat: Chat) -> list[tuple[str, Approval]]:
    """Return the approvals of the project, each with its label. Raises ChatLoopError."""
    tools = {tool.spec.name: tool for tool in chat.conversation.agent.tools}
    kept = []
    for approval in chat.approvals.stored().approvals:
        if approval.project == chat.approvals.project:
            label = one_line(exact(f"{approval.tool}: {approval.call}".removesuffix(": ")), 300)
            if tool := tools.get(approval.tool):
                label += _validity(approval, chat.approvals.of(tool, approval.call))
            kept.append((label, approval))
    return kept


def _validity(approval: Approval, wanted: Approval) -> str:
    """Return a note about an approval that does not cover a tool as it is now."""
    if approval == wanted:
        return ""
    if wanted.replaces(approval):
        return " (asks again: the tool has changed)"
    return f" (only with the agent {one_line(approval.agent, 100) or 'of no file'})"


@registry.command("agents", "Model and tools", shows="")
async def agents(chat: Chat, words: str, options: OptionValues) -> None:
    """List your named agents; chat-loop --agent NAME starts a chat with one."""
    rows = agent_rows(chat.agents) if chat.agents is not None else []
    for line in agent_lines(rows):
        chat.display.prose(line, indent=4)
    if not rows:
        chat.display.prose(NO_AGENTS)


def agent_rows(registry: AgentRegistry) -> list[dict[str, Any]]:
    """Return the named agents, each with its path, kind, description, approval and problem."""
    rows = []
    for agent in registry.all():
        row = {"name": agent.name, "path": agent.path, "alias": agent.alias, "kind": ""}
        row |= {"description": "", "approved": True, "problem": ""}
        try:
            file = read_file(agent.path)
            row |= {"path": file.path, "kind": file.kind, "description": file.description()}
            row["approved"] = registry.question(file) is None
        except ChatLoopError as error:
            row["problem"] = error.message
        rows.append(row)
    return rows


def agent_lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield two lines for each named agent."""
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        state = row["problem"] or ("" if row["approved"] else "not approved")
        note = f" ({one_line(state, 300)})" if state else ""
        yield f"{row['name']:<{width}}  {one_line(row['description'], 100)}".rstrip()
        yield f"{'':<{width}}  {row['path']}{note}"


@registry.command("mcp [NAME | restart NAME]", "Model and tools")
async def mcp(chat: Chat, words: str, options: OptionValues) -> None:
    """Show the MCP servers, or the tools of one; restart reconnects one."""
    servers = chat.servers
    display = chat.display
    if servers is None:
        raise UsageError(*NO_SERVERS)
    servers.start()
    match words.split():
        case []:
            states = servers.states()
            if not chat.conversation.agent.provider.calls_tools:
                display.warn("The model cannot call tools: it is not offered those of the servers.")
        case ["restart", name]:
            display.begin_waiting(f"Connecting to {servers.state(name).name} …")
            states = (await servers.restart(name),)
            display.stop_waiting()
        case [name]:
            for line in server_lines(servers.state(name), servers):
                display.prose(line, indent=4)
            return
        case _:
            raise usage_error("mcp")
    for state in states:
        first, *rest = server_lines(state, None)
        display.line(first)
        for line in rest:
            display.prose(line, "yellow", indent=4)


@registry.command("run COMMAND", "Model and tools", bare=r"!(!?[^!\s].*)")
async def run(chat: Chat, words: str, options: OptionValues) -> NextQuery | None:
    """Run a shell command and send its output with your next message; so does `!COMMAND`.

    !git diff               show the output here, and send it with your next message
    !!make test             only show it
    It gets no input, and ten minutes. The chat asks before it sends what looks like a key.
    """
    command = words.removeprefix("!").strip()
    if not chat.reader.has_editor:
        if chat.reader.typed.startswith("!"):  # a line of a pipe is text, however it begins
            return f"!{words}", ()
        raise UsageError("/run needs a terminal with the line editor.", "Nothing was run or sent.")
    if not command:
        raise usage_error("run")
    if (folder := working_folder()) is None:
        raise NoWorkingFolder
    chat.display.begin_waiting(f"Running {one_line(command, 60)} …")
    output = await shell.run_command(command, folder, os.environ, shell.MAX_SECONDS)
    output = output.encode("utf-8", "replace").decode()  # no request can carry lone surrogates
    limit = min(MAX_RESULT, chat.conversation.window // 4)
    output = shorten(output, limit, ": print less at once")
    chat.display.stop_waiting()
    chat.display.line(output.removeprefix("Exit code 0.\n"))
    if not words.startswith("!"):
        outgoing = await judged(output, shell.source_of(command))
        [sent] = await chat.secrets.release([outgoing], by_user=True)
        chat.display.stop_waiting()
        if sent.left_out:
            chat.display.line("Not sent.", "dim")
            return None
        chat.quotes.append(f"I ran `{command}`:\n\n````\n{sent.text}\n````")
        chat.display.line("It goes with your next message; !! only shows the output.", "dim")
    return None


def server_lines(state: ServerState, servers: McpServers | None) -> Iterator[str]:
    """Yield lines about a server, and about its tools if `servers` is given."""
    tools = f" · {plural(len(state.tools), 'tool')}" if state.state == "connected" else ""
    yield f"{state.name}: {state.state}{tools} · {one_line(state.where, 200)}"
    if state.problem:
        again = " The next call connects it again." if state.reconnects else ""
        yield f"  {one_line(state.problem, 1000)}{again}"
    if servers is None:
        return
    for tool in state.tools:
        note = "" if servers.needs_approval(state.name, tool.name) else " (not asked about)"
        yield f"  {one_line(tool.name, 100)}{note}: {one_line(tool.description, 300)}"


def _replaced(wanted: Approval, kept: Sequence[Approval]) -> Approval | None:
    """Return the approval that would cover a call if the tool had not changed."""
    return next((one for one in reversed(kept) if wanted.replaces(one)), None)


class ToolApproval:
    """Asks on the terminal whether a tool may run.

    “Always” and “project” allow all calls of the tool. For `run_command`, files outside the project
    and files that can run code, they allow only the same call. “Project” is not offered for such
    files, or for a command that names one. When the tool changes, the user is asked anew.
    """

    def __init__(self, display: DisplayManager, reader: Reader, kept: ProjectApprovals) -> None:
        self._display = display
        self._reader = reader
        self._kept = kept
        self._always: dict[tuple[str, str], Approval] = {}
        self._is_told = False
        """True once the user knows that the file has entries of another version."""

    async def approve(self, tool: Tool, text: str) -> bool:
        """Return True if the call is allowed, by the user now or earlier. Raises ChatLoopError."""
        name = tool.spec.name
        asks_again = text.startswith(ASKED_AGAIN)
        call = text if asks_again or name == "run_command" else ""
        wanted = self._kept.of(tool, call)
        always = self._always.get((name, call))
        if always == wanted:
            return True
        self._display.stop_waiting()
        try:
            offers_project = not (asks_again or self._kept.has_all_projects)
            kept = await self._approvals() if offers_project else None
            if kept is not None and wanted in kept:
                return True
            earlier = always or _replaced(wanted, kept or ())
            act = parts_of(text)
            if earlier is not None:
                act = (change_notice(earlier, wanted), *act)
            choices = ["yes", "no", "always", *(["project"] if kept is not None else []), "view"]
            verb = VERBS.get(name, "Run")
            scope = "this exact call" if call else name
            self._display.asks_about(name)
            answer = await self._ask(Question(f"{verb}?", tuple(choices), act, scope))
            if answer == "always":
                self._always[name, call] = wanted
            elif kept is not None and answer == "project":
                await asyncio.to_thread(self._kept.add, wanted)
                self._display.prose(f"Saved for {self._kept.project}; /tools lists it.", "dim")
            return answer in ("yes", "always", "project")
        finally:
            self._display.begin_waiting()

    async def _approvals(self) -> Sequence[Approval] | None:
        """Return the stored approvals, or None after a warning if the file is unusable."""
        try:
            stored = await asyncio.to_thread(self._kept.stored)
        except ChatLoopError as error:
            self._display.warn(error.message, error.hint)
            return None
        if stored.others and not self._is_told:
            self._is_told = True
            count = plural(len(stored.others), "answer")
            text = f"{self._kept.file} has {count} that this version of chat-loop does not use."
            self._display.warn(text, "They stay in the file; the tools ask again.")
        return stored.approvals

    async def _ask(self, question: Question) -> str:
        """Return the user's choice.

        Ctrl-C stops the reply, as it does at any time. Ctrl-D and the end of a pipe mean no.
        """
        try:
            return await ask(self._display, self._reader, question)
        except EOFError:
            return "no"
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)  # its handler stops the reply
            await asyncio.Event().wait()
            raise

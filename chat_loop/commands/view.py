"""Commands that show something: help, templates, history, stats, info; and the status line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from chat_loop.characters import one_line
from chat_loop.commands.branches import own
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import ESSENTIAL, Command, OptionValues, registry, usage_error
from chat_loop.context.budget import messages_in
from chat_loop.conversation.conversation import Conversation
from chat_loop.display import panels
from chat_loop.display.conversation_rows import Cost, cost_of, price_of
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.status import Status, home_text
from chat_loop.errors import UsageError
from chat_loop.sessions import reach
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Exchange, Reply, Session
from chat_loop.sessions.writer import accounting
from chat_loop.values import Usage, dollars_text, plural, tokens_text

NARROW = 60  # below this many columns an explanation goes below the name that it explains
WIDEST = 26  # columns for commands in their list; a longer one gets its own line
FAMILIES = (
    *("Conversation", "Context", "Sessions", "Branches", "Memory", "Model and tools", "View"),
    "Plugins",
)
MORE_ESSENTIALS = {
    "@path, Ctrl-V": "Adds a file, or a copied image.",
    "Esc": "Stops a reply and keeps what arrived.",
}
MORE_HELP = "/help COMMAND for details, /help all for all commands, /help keys for the keys."
RULE = (
    "Without /, too: exit, quit, help, compact, sessions, resume [N|ID]. All else is sent as a "
    'message, and so is a command after a space. @"path" adds a file with spaces in its name.'
)
KEYS = {
    "Enter": "Sends the message.",
    "Alt-Enter, Ctrl-J": "Starts a new line; in some terminals, so does Shift-Enter.",
    "\\ Enter": "Starts a new line, without the backslash.",
    "\\\\ Enter": "On an empty line: starts a message of several lines; an empty line ends it.",
    "Ctrl-V, Alt-V": "Pastes an image, or text, from the clipboard.",
    "Tab": "Completes commands, options, sessions, models, settings, templates and @files.",
    "Up, Down": "Moves between lines, queued messages (from an empty line), and the history.",
    "Ctrl-R": "Searches the history; Enter puts the match on the line.",
    "Ctrl-X Ctrl-E": "Edits the message in $VISUAL or $EDITOR (v in vi's command mode).",
    "Esc": "Stops a reply and keeps what arrived; stops anything else that runs.",
    "Esc Esc": "On an empty line: shows your messages, to go back to one.",
    "Ctrl-C": "Stops what runs, like Esc, or clears the line, which Up brings back; twice quits.",
    "Ctrl-D": "Quits, from an empty line.",
}
OTHER_KEYS = "All other keys are those of emacs, or of vi with input: {keys: vi} in the config."


@registry.command("help [COMMAND]", "View", bare=r"help|(\?)", shows=r".*")
async def show_help(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the commands that you need, or explain one.

    /help compact           one command, with its options and examples
    /help all               every command with its description
    /help keys              the editing keys; so does ? alone
    """
    display = chat.display
    match argument:
        case "":
            _show_essentials(chat)
        case "all":
            await _explain_all(chat)
        case "keys" | "?":
            _columns(display, KEYS, max(map(len, KEYS)))
            display.prose(OTHER_KEYS, "dim")
        case _:
            _help_about(chat, argument.lstrip("/#"))


def _show_essentials(chat: Chat) -> None:
    """Show what a person needs, a line each, then the other commands by family."""
    display = chat.display
    rows = {}
    for name in ESSENTIAL:
        command = registry.named(name)
        assert command is not None
        rows[command.usage] = _brief(command.help, ends="[;:,] .*")
    _columns(display, {**rows, **MORE_ESSENTIALS}, max(map(len, rows)))
    named: dict[str, Sequence[str]] = {}
    for title, members in families():
        named[title] = [command.name for command in members if command.name not in ESSENTIAL]
    named["Templates"] = chat.templates.names()
    for title, names in named.items():
        if names:
            display.prose(f"{title:<16} /{' /'.join(names)}", "dim", indent=17)
    display.prose(MORE_HELP)
    display.prose(RULE, "dim")


def _brief(text: str, ends: str = "[;:] .*") -> str:
    """Return the first clause of a command's help, without what `ends` it."""
    return re.sub(rf"{ends}| \(.*", "", text).rstrip(".") + "."


async def _explain_all(chat: Chat) -> None:
    """Show every command with its description, cut to its first clause to fit the terminal."""
    display = chat.display
    room = 1_000
    if display.is_terminal:
        room = display.console.width - WIDEST - 4
    for title, members in families():
        display.line(title, "bold")
        rows = {command.usage: command.help for command in members}
        for usage, text in rows.items():
            if len(text) > room:
                rows[usage] = _brief(text)
        _columns(display, rows, WIDEST)
    if chat.templates.names():
        display.line("Templates", "bold")
        await list_templates(chat, "", {})
    display.prose(RULE, "dim")


@registry.command("templates", "View", shows="")
async def list_templates(chat: Chat, argument: str, options: OptionValues) -> None:
    """List your templates: texts that you send with commands of your own."""
    templates = {}
    for template in chat.templates.all():
        about = template.description or template.text.partition("\n")[0]
        templates[template.usage] = one_line(about, 100)
    if not templates:
        where = f"Save a prompt as {chat.templates.folder}/NAME.md, then type /NAME."
        raise UsageError("There are no templates yet.", where if chat.templates.folder else "")
    _columns(chat.display, templates, max(map(len, templates)))


def _columns(display: DisplayManager, rows: Mapping[str, str], width: int) -> None:
    """Show names beside their explanations, or above them if there is no room."""
    for name, text in rows.items():
        if display.console.width >= NARROW and len(name) <= width:
            display.prose(f"  {name:<{width}}  {text}", indent=width + 4)
        else:
            display.line(f"  {name}")
            display.prose(f"    {text}", indent=4)


def _help_about(chat: Chat, name: str) -> None:
    """Show the help of a command, or a template. Raises UsageError when it is neither."""
    display = chat.display
    if command := registry.named(name):
        display.line(command.usage)
        display.prose(f"  {command.help}", indent=2)
        for line in command.details:
            example = re.match(r"\S[^\n]{0,40}?   *(?=\S)", line)
            display.prose(f"  {line}", indent=2 + (example.end() if example else 0))
    elif template := chat.templates.find(name):
        display.line(template.usage)
        if template.description:
            display.prose(f"  {template.description}", indent=2)
        for line in template.text.split("\n"):
            display.line(f"  {line}")
    else:
        raise UsageError(f"Unknown command /{name[:40]}.", "/help lists the commands.")


def families() -> list[tuple[str, list[Command]]]:
    """Return the commands of each nonempty family, sorted by name, without old words."""
    todays = [command for command in registry.commands if not command.now]
    ordered = sorted(todays, key=lambda command: command.name)
    members = []
    for title in FAMILIES:
        members.append((title, [one for one in ordered if one.family == title]))
    return [(title, commands) for title, commands in members if commands]


@registry.command("history [--full]", "View", flags=("full",), shows=r".*")
async def history(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the conversation so far: its summaries, then the messages in the context."""
    if argument:
        raise usage_error("history")
    conversation = chat.conversation
    line = reach.line_of(chat.sessions, own(chat), chat.sessions.load)
    told = {each.key for each in conversation.context.exchanges}
    summarized: list[panels.Summarized] = []
    recent: list[Exchange] = []
    covered: list[str] = []  # the references of messages that only a summary covers
    total = 0
    for depth in range(line.depth - len(line.sessions) + 1, line.depth + 1):
        view = line.at(depth)
        assert view is not None
        session = view.session
        is_open = depth == line.depth
        for exchange in reach.numbered(session, depth):
            total += messages_in([exchange])
            is_told = exchange.key in told
            if is_told or (exchange.failed and (recent or is_open)):
                recent.append(exchange)
            elif not exchange.failed:
                covered.append(exchange.ref)
        summary = session.seal.summary if session.seal is not None else None
        if is_open:
            summary = conversation.context.parent_block
        if covered and (summary is not None or is_open):
            # a part of a session has no summary of its own
            identity = session.header.parent if is_open else session.id
            summarized.append(panels.Summarized(covered[0], covered[-1], identity, summary))
            covered = []
    if not total:
        raise UsageError("There are no messages yet.")
    if line.problem:
        chat.display.warn(line.problem)
    agent = conversation.agent.name
    full = "full" in options
    panels.show_history(chat.display, summarized, recent, total, agent=agent, full=full)


@registry.command("thinking", "View", shows="")
async def thinking(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the model's thinking for its last reply, as far as its service shares it."""
    text = chat.display.thinking
    if not text:
        hint = "/effort shows how much it is asked to think; not every service tells."
        raise UsageError("The model has shown no thinking in this run.", hint)
    chat.display.prose(text, "dim")


@registry.command("stats", "View", aliases=("usage", "cost"), shows="")
async def stats(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show tokens and cost of the conversation, with plots and what each compaction kept."""
    conversation = chat.conversation
    display = chat.display
    sessions, problem = chat.chain()
    session = sessions[-1]
    cost = conversation.options.cost
    pairs = [*accounting(session.totals)]
    if len(sessions) > 1:
        queries = sum(each.totals.queries for each in sessions)
        total = sum(each.totals.combined for each in sessions)
        pairs.append(("Sessions in the chain", str(len(sessions))))
        pairs.append(("Queries in the chain", str(queries)))
        pairs.append(("Tokens in the chain", f"{total:,}"))
    seals = [session.seal for session in sessions]
    if summaries := [seal.usage for seal in seals if seal and seal.usage]:
        pairs.append(("Summaries", tokens_text(sum(summaries, Usage()))))
    used = session.usage_of_models or {conversation.agent.model: Usage()}
    pairs.append(("Cost of the session", dollars_text(cost_of(used.items(), cost))))
    display.lines(pairs)
    if len(used) > 1:
        rows: list[tuple[str, ...]] = [("Model", "In", "Out", "Cached", "Cost")]
        for model, usage in used.items():
            counts = (f"{number:,}" for number in (usage.input, usage.output, usage.cached))
            rows.append((one_line(model, 60), *counts, dollars_text(price_of(model, usage, cost))))
        display.table(rows, numbers=(1, 2, 3, 4))
    if problem:
        display.warn(problem)
    sizes = sizes_of_replies(sessions)
    if len(sizes) > 1:
        taken, context = zip(*sizes, strict=True)
        curves = {"Tokens": taken, "Context": context}
        if taken == context:  # no reply had several steps
            curves = {"Tokens and context": taken}
        for name, tokens in curves.items():
            title = f"{name}: {plural(len(tokens), 'message')}, at most {max(tokens):,} tokens"
            display.line()
            display.prose(title, "bold")
            display.line(f"  {panels.sparkline(tokens, display.console.width - 3)}")
    panels.show_compactions(display, sessions)


def sizes_of_replies(sessions: Sequence[Session]) -> list[tuple[int, int]]:
    """Return the tokens of each reply of a chain, even of undone ones, and its context size."""
    sizes: dict[tuple[str, int], tuple[int, int]] = {}
    for session in sessions:
        for entry in session.entries:
            if isinstance(entry, Reply) and entry.number and (usage := entry.usage) is not None:
                key = session.id, entry.number  # a reply may have several steps
                taken, _ = sizes.get(key, (0, 0))
                sizes[key] = taken + usage.total, usage.total - usage.reasoning
    return [*sizes.values()]


@registry.command("info", "View", aliases=("status",), shows="")
async def info(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the session, its file, the model, the context and the totals."""
    conversation = chat.conversation
    live = conversation.live
    budget = conversation.budget
    agent = conversation.agent
    mark = "~" if budget.estimated else ""
    window = f"{budget.window.tokens:,}{' (guessed)' if budget.window.guessed else ''}"
    none = "none yet: it begins with your first message"
    pairs = [("Session ID", none)]
    if not live.is_empty:
        pairs = [
            ("Session ID", live.header.id),
            ("File", str(live.path)),
            ("Saved", "yes" if live.is_saved else "NO"),
        ]
    pairs += [
        ("Resumed From", live.header.parent),
        ("Git Branch", live.header.git_branch),
        ("Git Commit", live.header.git_commit),
        ("Agent", agent.name),
        ("Agent Path", agent.path),
        ("Description", agent.description),
        ("Model", agent.model),
        ("Asked with", agent.parameters.text),
        ("Context", f"{mark}{budget.used:,} of {window} tokens ({mark}{budget.share:.0%})"),
        *accounting(conversation.session.totals),
        ("Pins", str(len(conversation.context.pins) or "")),
        *chat.facts,
    ]
    chat.display.lines((label, home_text(value)) for label, value in pairs if value)


def status_of(conversation: Conversation, cost: Cost) -> Status:
    """Return the contents of the status line."""
    live = conversation.live
    budget = conversation.budget
    session = conversation.session
    earlier = conversation.earlier_usage
    tokens = session.totals.combined + sum(usage.input + usage.output for _, usage in earlier)
    spent = (*earlier, *session.usage_of_models.items())
    name = name_of(session)
    return Status(
        model=conversation.agent.model,
        share=budget.share,
        window=budget.window,
        estimated=budget.estimated,
        tokens=tokens,
        cost=cost_of(spent, cost) if tokens else None,
        session=name if live.is_empty else name or live.header.id,
        unsaved=not live.is_empty and not live.is_saved,
        summary=conversation.background.state,
    )

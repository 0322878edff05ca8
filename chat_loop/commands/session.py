"""Commands about sessions: leave, list, resume, begin anew."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Quit, registry
from chat_loop.display.views import show_sessions
from chat_loop.errors import SessionError, SessionNotFound, UsageError
from chat_loop.sessions.records import Session
from chat_loop.values import Usage
from chat_loop.wording import counted, dollars_text

PAGE = 20


@registry.command("exit", bare="exit|quit", aliases=("quit",))
async def leave(chat: Chat, argument: str) -> None:
    """Save the session with a summary and leave (Ctrl-D does the same; Ctrl-C skips the summary)."""
    raise Quit


@registry.command("sessions", argument="[all]", bare="sessions")
async def sessions(chat: Chat, argument: str) -> None:
    """List the saved sessions, newest first; the numbers are those that resume takes."""
    if argument not in ("", "all"):
        raise UsageError(f"/sessions takes nothing or “all”, not “{argument[:40]}”.")
    shown = chat.sessions.rows(None if argument else PAGE, _own_id(chat))
    chat.listed = [row.id for row in shown]
    others = chat.sessions.count() - len(shown) - (not chat.conversation.live.empty)
    show_sessions(chat.display, shown, max(0, others), chat.sessions.now())


@registry.command("resume", argument="N|ID [--last K|--full]", bare=r"resume[ \t]+(\S+)")
async def resume(chat: Chat, argument: str) -> None:
    """Go on with a saved session: its summary, and its last K exchanges or all its words."""
    argument, last, whole = _mode(argument)
    if not chat.listed:
        chat.listed = [row.id for row in chat.sessions.rows(PAGE, _own_id(chat))]
    path = chat.sessions.find(argument, chat.listed)
    if path == chat.conversation.live.path and not chat.conversation.live.empty:
        raise SessionError("That is the session you are in.")
    chat.display.line("Loading session...", symbol="📋")
    try:
        loaded = chat.sessions.load(path)
    except SessionNotFound:
        raise
    except SessionError as error:
        otherwise = chat.conversation.otherwise
        raise SessionError(f"Session can't be resumed: {error.message}", otherwise) from error
    if await _different_agent(chat, loaded.session):
        return
    offer = await chat.conversation.offer(loaded, last=last, whole=whole)
    words = f" and {counted(len(offer.beginning.carried), 'exchange')}" if offer.beginning.carried else ""
    what = f"the summary{words}" if offer.beginning.block else words.removeprefix(" and ")
    price = chat.conversation.options.cost(chat.conversation.agent.model, Usage(input=offer.tokens))
    costs = f", {dollars_text(price)}" if price else ""
    chat.display.line(f"  {offer.tokens:,} tokens{costs}: {what}", "dim")
    if offer.left_out:
        chat.display.prose(
            f"  {counted(offer.left_out, 'exchange')} would not fit and stay summarised.", "dim", indent=2
        )
    await chat.conversation.accept(offer)
    chat.listed = []


def _mode(argument: str) -> tuple[str, int, bool]:
    """The session, how many of its last exchanges, and whether all of them. Raises UsageError."""
    match argument.split():
        case [reference]:
            return reference, 0, False
        case [reference, "--full"]:
            return reference, 0, True
        case [reference, "--last", number] if number.isascii() and number.isdigit() and int(number[:9]) > 0:
            return reference, int(number[:9]), False
        case [_, "--last", *_]:
            raise UsageError("--last takes a number of exchanges.", "For example: /resume 3 --last 5.")
        case _:
            raise UsageError("Which session? resume takes one number or id.", "sessions lists them.")


@registry.command("clear")
async def clear(chat: Chat, argument: str) -> None:
    """Save the session and begin a fresh one with an empty context and an empty screen."""
    chat.conversation.leave("clear")
    chat.clear_screen()
    chat.display.line("A fresh session; nothing is carried over.", "dim")


def _own_id(chat: Chat) -> str:
    """The id of the session that is open, which is no session to resume; empty while there is no file."""
    live = chat.conversation.live
    return "" if live.empty else live.header.id


async def _different_agent(chat: Chat, session: Session) -> bool:
    """Ask when the session was made with another agent; True when the user says no."""
    agent, header = chat.conversation.agent, session.header
    if header.agent_path == agent.path and (header.agent in ("", agent.name) or agent.path):
        return False
    created = header.agent_path or header.agent
    chat.display.warn(f"Session created with {created}, using {agent.path or agent.name}.")
    if await chat.confirm("Different agent detected. Continue? (y/n) "):
        return False
    chat.display.line(f"Not resumed. {chat.conversation.otherwise}")
    return True

"""What a chat begins with: the session that goes on, its model, and the first commands."""

from __future__ import annotations

from contextlib import closing, suppress

from msgspec import Struct

from chat_loop import assembly
from chat_loop.commands.references import NEWEST, find_last, find_session
from chat_loop.errors import NoProvider, SessionError
from chat_loop.options import BROWSE, LAST
from chat_loop.parts import Parts
from chat_loop.providers import Provider
from chat_loop.providers.recorded import Offer


class Beginning(Struct, frozen=True):
    """The first `commands` of a chat. If it `chooses`, the user chooses a session first, else it
    goes on with the session of the `reference`, if there is one.
    """

    commands: tuple[str, ...] = ()
    reference: str = ""
    chooses: bool = False

    @property
    def goes_on(self) -> bool:
        """True if the chat begins with a session that goes on."""
        return self.chooses or bool(self.reference)


def beginning_of(parts: Parts) -> Beginning:
    """Return what the options ask for, or else sessions.auto_resume."""
    options = parts.options
    chooses = options.command == "sessions" or options.resume == BROWSE
    reference = ""
    if not chooses:
        reference = str(options.resume)
    if reference == LAST:
        reference = "current"  # an option of the command line means runs of -p as well
    elif not (chooses or reference) and _resumes(parts):
        reference = LAST
    commands = []
    if chooses:
        commands.append(f"/sessions browse {' '.join(getattr(options, 'words', ()))}".rstrip())
    elif reference:
        commands.append(f"/resume {reference} --quick")
    if options.title:
        commands.append(f"/rename {options.title}")
    return Beginning(tuple(commands), reference, chooses)


def _resumes(parts: Parts) -> bool:
    """Return True when each start continues the last chat, and this project has one."""
    if not parts.config.sessions.auto_resume or parts.options.new_session:
        return False
    pointers = parts.sessions.pointers
    before = pointers.read()
    found = pointers.recent(before, chats=True)
    if pointers.unreadable(before):
        return True  # the command says so
    if (found is None or not found.is_here) and not before.complete:  # after an update
        with suppress(SessionError):
            found = find_last(parts.sessions, chats=True)
    return found is not None and found.is_here


def first_provider(parts: Parts, beginning: Beginning) -> Provider:
    """Return the model that answers first: that of the session that goes on, if it can be had.
    Raises as `choose_provider`.
    """
    offer = _offer(parts, beginning.reference)
    if offer.provider is not None and not offer.problem:
        return offer.provider
    try:
        return assembly.choose_provider(parts)
    except NoProvider as error:
        if beginning.chooses:
            offer = _newest_offer(parts)
        if offer.provider is not None:
            return offer.provider  # the user is asked about its endpoint
        if offer.problem:
            text = f"{offer.problem} No other model is available."
            raise NoProvider(text, error.hint) from error
        return assembly.offer_embedded(parts, error)


def _offer(parts: Parts, reference: str) -> Offer:
    """Return what can be had of the model of the session that goes on, if any."""
    if not reference or parts.model_is_chosen:
        return Offer()
    with (
        suppress(SessionError),  # the command that resumes it reports that
        closing(parts.library()) as library,
    ):
        if reference in NEWEST:
            found = find_last(parts.sessions, chats=reference == LAST)
            if not found.is_here:  # the user is asked first
                return Offer()
            path = found.row.path
        else:
            path, _ = find_session(parts.sessions, library, reference, library.listed)
        return assembly.find_offer(parts, parts.sessions.answering(path))
    return Offer()


def _newest_offer(parts: Parts) -> Offer:
    """Return what can be had of the model of the newest session, for a chat that begins with a
    choice of one and has no other model.
    """
    with suppress(SessionError):
        found = find_last(parts.sessions)
        return assembly.find_offer(parts, parts.sessions.answering(found.row.path))
    return Offer()

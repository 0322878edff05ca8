"""Exit: how a session is left, when its summary is made, and its seal: with a prepared summary, a
new one, an extract, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.context.budget import Narration
from chat_loop.context.messages import Context
from chat_loop.context.request import Frame
from chat_loop.conversation import summarizer
from chat_loop.conversation.background import DelayedBlock
from chat_loop.conversation.compaction import Draft, tokens_of
from chat_loop.conversation.conversation_options import Options
from chat_loop.conversation.resumption import fits_verbatim
from chat_loop.conversation.stored_context import goes_by_summary
from chat_loop.sessions.records import Seal, SealReason
from chat_loop.values import Usage

SUMMARY_ON_RESUME = "It will be made when you resume the session."
VERBATIM_ON_RESUME = "A resume brings back all words."
EXIT_SECONDS = 3.0  # the longest that an exit waits for a summary that another process can make
QUICK_TOKENS = 2_000  # the largest conversation whose summary is tried in that time
REST_TOKENS = 8_000  # the most tokens that a prepared summary may leave uncovered


class Leaving(Struct, frozen=True, kw_only=True):
    """How the live session is left. `seal` is None if nothing was said in it. If the seal cannot be
    saved, `must_save` keeps the session open, and `refusal` says so. `is_new` begins
    another conversation, whose spending is counted from zero, and the background summary is
    canceled; otherwise, if it is still running, `deliver` gets it with the path of the sealed file.
    `compacted` is shown once it is so, with the size that the context then has, or will have once
    the child is `acknowledged`. If it `is_branch`, the command itself tells where it begins.
    """

    seal: Seal | None
    reason: str
    must_save: bool = True
    refusal: str = "Staying in this session."
    deliver: Callable[[Path, Narration], DelayedBlock | None] | None = None
    is_new: bool = True
    compacted: Draft | None = None
    acknowledged: bool = False
    is_branch: bool = False


def when_resumed(frame: Frame, context: Context, mode: str) -> str:
    """Return the sentence that says what a resume in this mode brings without a summary."""
    if mode != "auto" or goes_by_summary(context.session) or not fits_verbatim(frame, context):
        return SUMMARY_ON_RESUME
    return VERBATIM_ON_RESUME


def when_summarized(options: Options, agent: ModelAgent, used: int) -> str:
    """Return when to make the summary of a session that ends with `used` tokens in its context:
    `wait`, `background` or `later`.
    """
    if not options.use_ai_summary:
        return "later"
    writer = options.summarizer_for(agent.provider.name) or agent.provider
    spending = agent.limits.spending
    usage = Usage(input=used, output=options.summary.max_tokens)
    if spending is not None and spending.check(f"{writer.name}:{writer.model}", usage)[1]:
        return "later"  # the user is not asked at the end
    return options.on_exit or ("later" if writer.name == "local" else "background")


def is_quick(frame: Frame, context: Context) -> bool:
    """Return True if a summary of what is new is likely to be made before an exit gets slow."""
    return tokens_of(frame, context.unsummarized) <= QUICK_TOKENS


def prepared_seal(
    frame: Frame, context: Context, ready: Narration, at: datetime, reason: SealReason
) -> Seal | None:
    """Return a seal with the summary that is `ready` if it covers nearly everything, else None."""
    rest = context.unsummarized[len(ready.covered) :]
    if ready.narrative is None or any(each.depth != context.session.depth for each in rest):
        return None
    if tokens_of(frame, rest) > min(REST_TOKENS, frame.window.tokens // 8):
        return None
    block = summarizer.build_block(frame, context, ready, ready.covered, rest)
    seal = ready.seal(at, reason, block.summary)
    return replace(seal, covers=rest[0].number - 1 if rest else None)


def seal_without_model(
    frame: Frame, context: Context, at: datetime, reason: SealReason, *, uses_model: bool
) -> Seal:
    """Return a seal with what costs nothing: an extract if summaries are not for the model at all,
    or the parent's block if nothing was said, else no summary.
    """
    unsummarized = context.unsummarized
    needs_model = bool(unsummarized) and uses_model
    if needs_model or not (unsummarized or context.parent_block or context.pins):
        return Seal(at=at, reason=reason)
    return Narration().seal(at, reason, summarizer.final_block(frame, context))


def narrated_seal(frame: Frame, context: Context, narration: Narration, at: datetime) -> Seal:
    """Return the seal for the exit with a narration, or without a summary if the model failed."""
    if narration.narrative is None:
        return Seal(at=at, reason="exit", usage=narration.usage, seconds=narration.seconds)
    return narration.seal(at, "exit", summarizer.final_block(frame, context, narration))

"""Summaries: asks a model for narratives, checks its answers, and makes extracts without a model.
The ledger keeps everything that must be exact, and no text passes through a model twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.agent.ask import ask
from chat_loop.characters import one_line
from chat_loop.context import narrative
from chat_loop.context.budget import SMALL_WINDOW, Narration, SummaryOptions
from chat_loop.context.exact import ExactValue, figures, find, normalize
from chat_loop.context.exchanges import attached_text
from chat_loop.context.grounding import REFERENCE, drop_groundless
from chat_loop.context.messages import clip, prompt
from chat_loop.context.narrative import FIRST, NAMES, NOTHING, InvalidSummary, OtherForm
from chat_loop.errors import (
    ChatLoopError,
    ContextTooLong,
    EmptyReply,
    ProviderError,
    TimedOut,
)
from chat_loop.events import Event, Finished, Retrying, SummaryProgress, SummaryStarted, TextDelta
from chat_loop.providers import Provider
from chat_loop.redact import Redactor, redact_text
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary, Use
from chat_loop.text import sentences
from chat_loop.tokens import Count
from chat_loop.values import Message, Request, Usage

SYSTEM, PROMPT, FORMAT = (prompt(f"summary_{name}.txt") for name in ("system", "request", "form"))
GRAMMAR = prompt("summary_grammar.gbnf") + "\n"
MAX_PAUSE = 5.0  # seconds; a server that asks for a longer pause is not asked again
AGAIN = (
    "Your last answer had other headings. Begin with **Background Context:** and write each "
    "heading exactly as above, in English."
)
_INCOMPLETE = {
    "length": "The summary was cut off at the token limit.",
    "refusal": "The model refused to write it.",
}
_QUOTED = re.compile(r"[\"“„«](.{3,400})[\"”“»][.!?]?")
_TERM = re.compile(r"[A-ZÀ-ÖØ-Þ]\w{1,60}")
_INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]{2,60}")  # a word inside a sentence


async def summarize(
    routes: Sequence[Provider],
    exchanges: Sequence[Exchange],
    parent: Summary | None,
    *,
    count: Count,
    show: Callable[[Event], None],
    options: SummaryOptions,
    focus: str = "",
) -> Narration:
    """Have a model write the narrative of `exchanges` after `parent`, in one or more calls."""
    started = options.limits.clock()
    problem = ""
    orders = [clip(options.instructions, 400, count)]
    if focus:
        orders.append(f"The user asks to keep above all: {clip(redact_text(focus), 200, count)}")
    writer = _Writer(routes, parent, count, show, options, "\n\n".join(filter(None, orders)))
    try:
        await writer.write(exchanges)
    except ChatLoopError as error:
        problem = error.message
    written = None
    covered: tuple[Exchange, ...] = ()
    if not problem:
        written = join(writer.parts, parent)
        covered = tuple(exchanges)
    return Narration(
        narrative=written,
        covered=covered,
        usage=writer.usage,
        seconds=round(options.limits.clock() - started, 2),
        model=writer.model,
        problem=problem,
    )


def join_narrations(first: Narration, second: Narration) -> Narration:
    """Join the narrations of a span's two parts. If either has no narrative, return `second`."""
    if first.narrative is None or second.narrative is None:
        return second
    return replace(
        second,
        narrative=join([first.narrative, second.narrative], None),
        covered=(*first.covered, *second.covered),
        usage=(first.usage or Usage()) + (second.usage or Usage()),
        seconds=(first.seconds or 0.0) + (second.seconds or 0.0),
    )


class _Writer(Struct):
    """Writes a span's narratives part by part. `orders` come from the config and the user."""

    routes: Sequence[Provider]
    parent: Summary | None
    count: Count
    show: Callable[[Event], None]
    options: SummaryOptions
    orders: str
    parts: list[Summary] = field(default_factory=list)
    usage: Usage | None = None
    model: str = ""

    async def write(self, exchanges: Sequence[Exchange]) -> None:
        """Write the narratives of the span's parts. Raises the second attempt's ProviderError."""
        provider = self.routes[0]
        redactor = Redactor()
        ceiling, before, room = self._limits(provider)
        texts = (transcribe(exchange, redactor) for exchange in exchanges)
        spans = await asyncio.to_thread(parts, texts, room, self.count)
        if self.options.announce is not None:
            size = 0
            for span in spans:
                sent = request("\n\n".join(span), before, self.orders)
                size += sum(map(self.count, sent.texts))
            usage = Usage(input=size, output=ceiling * len(spans), estimated=True)
            self.options.announce(f"{provider.name}:{provider.model}", usage)
        self.show(SummaryStarted(parts=len(spans), optional=self.options.optional))
        for number, span in enumerate(spans, 1):
            part = (number, len(spans))
            try:
                await self._ask(provider, span, part)
            except ProviderError as error:
                provider = await self._second_attempt(provider, error)
                room = self._limits(provider)[2]
                if isinstance(error, ContextTooLong):
                    room //= 2
                again = AGAIN if isinstance(error, OtherForm) else ""
                for half in parts(span, room, self.count):
                    await self._ask(provider, half, part, again)

    async def _second_attempt(self, provider: Provider, error: ProviderError) -> Provider:
        """Return another provider, or the same one after a short pause. Raise a final `error`."""
        limits = self.options.limits
        pause = 0.0
        other = next((route for route in self.routes if route is not provider), None)
        if other is None and not isinstance(error, ContextTooLong):
            if not isinstance(error, InvalidSummary):
                pause = error.retry_after or limits.first_pause
            may_succeed = error.retryable and not isinstance(error, TimedOut)
            if not may_succeed or pause >= MAX_PAUSE:
                raise error
        self.show(Retrying(reason=error.message, seconds=pause, attempt=2, attempts=2))
        if pause:
            await limits.sleep(pause)
        return other or provider

    def _limits(self, provider: Provider) -> tuple[int, str, int]:
        """Return a narrative's maximum tokens, the parent's narrative, and a part's maximum."""
        window = provider.window.tokens
        before = ""
        # in a small window, models would copy the parent's block if they got it
        if self.parent is not None and window > SMALL_WINDOW:
            brief = replace(self.parent, pinned=(), key_facts=(), files=(), tools=())
            before = clip(redact_text(summary_block.render(brief)), window // 4, self.count)
        ceiling = min(self.options.max_tokens, max(256, window // 5))
        around = 700 + window // 20 + self.count(before) + self.count(self.orders)
        return ceiling, before, max(200, window - ceiling - around)

    async def _ask(
        self, provider: Provider, texts: Sequence[str], part: tuple[int, int], again: str = ""
    ) -> None:
        """Add one part's narrative. `again` ends a second request. Raises ProviderError."""
        ceiling, before, _ = self._limits(provider)
        span = "\n\n".join(texts)
        orders = "\n\n".join(filter(None, (self.orders, again)))
        shown = before if part[0] == 1 else ""
        sent = request(span, shown, orders, ceiling)
        text = await self._answer(provider, sent, part)
        made, invented = await asyncio.to_thread(_checked, narrative.read(text), texts, before)
        lines = (*made.topics, *made.decisions, *made.pending)
        if len(invented) > len(lines):
            raise InvalidSummary("Most of the summary names values that nobody said.")
        size = self.count("\n".join(lines))
        # small models write as much as the grammar allows, even about little
        if size > 1_400 and size > self.count(span):
            raise InvalidSummary("The summary is larger than what it summarizes.")
        self.model = f"{provider.name}:{provider.model}"
        self.parts.append(made)

    async def _answer(self, provider: Provider, sent: Request, part: tuple[int, int]) -> str:
        """Return the whole text of an answer, and count its tokens. Raises ProviderError."""
        number, of = part
        text = ""
        stop = "error"
        events = ask(provider, sent, replace(self.options.limits, attempts=1))
        try:
            async with asyncio.timeout(self.options.limit), aclosing(events) as stream:
                async for event in stream:
                    if isinstance(event, TextDelta):
                        text += event.text
                        self.show(SummaryProgress(part=number, parts=of, characters=len(text)))
                    elif isinstance(event, Finished):
                        stop = event.stop
                        self._add(event.usage)
        except TimeoutError as error:
            raise TimedOut(f"It took more than {self.options.limit:.0f} seconds.") from error
        except EmptyReply as error:
            self._add(error.usage)
            raise InvalidSummary(NOTHING) from error
        if stop in _INCOMPLETE:
            raise InvalidSummary(_INCOMPLETE[stop])
        return text

    def _add(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage = (self.usage or Usage()) + usage


def transcribe(exchange: Exchange, redactor: Redactor | None = None) -> str:
    """Return an exchange for the summarizer, without secrets and with only the start of files."""
    lines = [f"User: {exchange.query.text}"]
    for file in exchange.attached:
        line = attached_text(file)
        if not file.is_image:
            line += f": {file.text[:800]}"
            if len(file.text) > 800:
                line += "…"
        lines.append(line)
    lines += map(_transcribed, exchange.uses)
    if exchange.reply is not None and exchange.reply.text.strip():
        speaker = "Assistant"
        if exchange.reply.stop != "end":
            speaker += f" ({exchange.reply.stop})"
        lines.append(f"{speaker}: {exchange.reply.text}")
    return (redactor or Redactor())("\n".join(f"[{exchange.ref}] {line}" for line in lines))


def _transcribed(use: Use) -> str:
    """Return a call and what became of it. The result is left out: in FactChain, even 1,000 tokens
    of each added less than one fact in a hundred, to nearly three times the text.
    """
    ending = ""
    if use.result is None:
        ending = " (interrupted)"
    elif use.result.failed:
        ending = " (failed)"
    return f"Tool{ending}: {use.call.name} {use.call.arguments}"


def parts(texts: Iterable[str], room: int, count: Count) -> list[list[str]]:
    """Group a span's exchanges into parts of at most `room` tokens. Clip larger exchanges."""
    result: list[list[str]] = []
    used = room + 1
    for whole in texts:
        text = clip(whole, room, count)
        size = count(text) + 2
        if used + size > room:
            result.append([])
            used = 0
        result[-1].append(text)
        used += size
    return result


def request(
    span: str, before: str = "", orders: str = "", max_tokens: int | None = None
) -> Request:
    """Return the request for a span's part: the parent's block `before`, the part, the `orders`."""
    background = FIRST
    if before:
        background = "[the previous summary condensed to 1-2 sentences]"
        before = f"This is the summary of what came before (do not repeat it):\n\n{before}\n\n"
    mark = hashlib.sha256(span.encode("utf-8", "replace")).hexdigest()[:8]
    form = FORMAT.format(background=background)
    text = PROMPT.format(before=before, mark=mark, span=span, form=form)
    if orders:
        text += f"\n\n{orders}"
    messages = (Message("user", text),)
    return Request(system=SYSTEM, messages=messages, max_tokens=max_tokens, grammar=GRAMMAR)


def _checked(made: Summary, texts: Sequence[str], before: str) -> tuple[Summary, tuple[str, ...]]:
    """Return a narrative of exchanges, given as `texts`, with what has a source in them, and the
    lines with values that are neither there nor in the block `before`.
    """
    true, invented = verify(made, "\n\n".join((*texts, before)))
    grounded = drop_groundless(true, texts)
    if not any(getattr(grounded, name) for name in NAMES) and not invented:
        raise InvalidSummary("The summary is empty.")
    return grounded, invented


def join(summaries: Sequence[Summary], parent: Summary | None) -> Summary:
    """Join the narratives of a span's parts. If they have no background, use the parent's block."""
    lists = {}
    for name in NAMES:
        lines = chain.from_iterable(getattr(part, name) for part in summaries)
        lists[name] = narrative.items(lines)
    background = summaries[0].background
    if background == FIRST:
        background = _condensed(parent)
    return Summary(background=background, **lists)


def verify(made: Summary, source: str) -> tuple[Summary, tuple[str, ...]]:
    """Return the narrative without lines whose values are not in `source`, and those lines."""
    values = _Source(source)
    lines = {"background": tuple(sentence.text for sentence in sentences(made.background))}
    lines |= {name: getattr(made, name) for name in NAMES}
    true = {name: tuple(filter(values.supports, lines[name])) for name in lines}
    true["decisions"] = tuple(filter(values.names_all_of, true["decisions"]))
    invented: list[str] = []
    for name, written in lines.items():
        invented += [line for line in written if line not in true[name]]
    background = true.pop("background")
    if background != lines["background"]:
        made = replace(made, background=" ".join(background))
    return replace(made, **true), tuple(invented)


class _Source:
    """The text in which the values of a narrative are looked up."""

    def __init__(self, text: str) -> None:
        self._flat = _flat(text)
        # if many words inside sentences are capitalized, all nouns are, as in German
        inside = _INSIDE.findall(text[:20_000])
        self._capital_nouns = sum(word[0].isupper() for word in inside) > 0.15 * len(inside)
        values = find(text)
        self._normals = {normalize(value.text) for value in values}
        self._moments = [_moment(value) for value in values if value.kind in ("date", "time")]
        numbers: dict[str, set[str]] = {"number": set(), "quantity": set(), "id": set()}
        for value in values:
            numbers.get(value.kind, set()).update(figures(value.text))
        self._bare = numbers["number"]
        self._counts = set().union(*numbers.values())

    def supports(self, line: str) -> bool:
        """Return True if everything exact in a line of the narrative is in the text."""
        bare = REFERENCE.sub("", line).strip()
        quoted = _QUOTED.fullmatch(bare)
        if quoted is not None:
            return _flat(quoted[1]) in self._flat
        return self._stands(bare) or all(self._has(value) for value in find(bare))

    def names_all_of(self, line: str) -> bool:
        """Return True if every name in a line, recognized by its capitals, is in the text."""
        bare = REFERENCE.sub("", line)
        for match in _TERM.finditer(bare):
            before = bare[: match.start()].rstrip(" \"'`“„«*_([-–—")
            opens = not before or before[-1] in ".!?:"
            odd = any(sign.isupper() or sign.isdigit() for sign in match[0][1:])
            if odd or not (opens or self._capital_nouns):
                stem = match[0].casefold()
                if stem.isalpha():
                    stem = stem[: max(4, len(stem) - 3)]
                if re.search(rf"(?<![^\W_]){re.escape(stem)}", self._flat) is None:
                    return False
        return True

    def _has(self, value: ExactValue) -> bool:
        """Return True if the text contains a value, perhaps in another spelling."""
        if value.kind in ("quote", "name"):
            return True
        bare = value.text.strip("`\"'")
        numbers = set(figures(value.text))
        spellings = (value.text, bare, f"v{bare}")
        if normalize(value.text) in self._normals or any(map(self._stands, spellings)):
            return True
        match value.kind:
            case "date" | "time":
                moment = _moment(value)
                unknown = moment - self._bare  # the text may spell out the month
                stands = any(moment <= other or other <= moment for other in self._moments)
                return stands or len(unknown) <= (value.kind == "date")
            case "number":  # a small one may be the narrator's count: "3 recipes"
                small = all(number.isdigit() and int(number) <= 12 for number in numbers)
                return small or numbers <= self._counts
            case "quantity":
                return numbers <= self._bare
        return bare.isalpha()  # a word written as code: `fast`

    def _stands(self, text: str) -> bool:
        """Return True if the source contains a text that is not inside another number or word."""
        flat = _flat(text)
        if not flat or flat not in self._flat:
            return False
        alone = rf"(?<![^\W_])(?<!\d[.,:]){re.escape(flat)}(?![^\W_]|[.,:]\d)"
        return re.search(alone, self._flat) is not None


def _moment(value: ExactValue) -> set[str]:
    """Return the numbers in a date or time, with hours from 1 to 12 and without zero minutes."""
    numbers = [int(number) for number in re.findall(r"\d+", value.text)]
    if value.kind == "time":
        numbers = [numbers[0] % 12 or 12, *(number for number in numbers[1:] if number)]
    return {str(number) for number in numbers}


def _flat(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def extract(exchanges: Sequence[Exchange], parent: Summary | None) -> Summary:
    """Return a narrative made without a model: how queries begin, and a last unanswered query."""
    topics = []
    for exchange in exchanges:
        flat = redact_text(one_line(exchange.query.text, 2_000))
        first = one_line(re.split(r"(?<=[.!?。！？])\s", flat, maxsplit=1)[0], 200)
        topics.append(f"{first} [{exchange.ref}]")
    pending: tuple[str, ...] = ()
    if exchanges:
        last = exchanges[-1].reply
        if last is None or last.stop in ("interrupted", "error"):
            pending = (f"Answer to: {topics[-1]}",)
    if len(topics) > 25:
        topics[5:-20] = [f"({len(topics) - 25} more queries)"]
    return Summary(background=_condensed(parent), topics=tuple(topics), pending=pending)


def _condensed(parent: Summary | None) -> str:
    """Condense a parent's block into the background of its child's."""
    if parent is None:
        return FIRST
    topics = one_line("; ".join(topic.rstrip(". ") for topic in parent.topics), 400)
    earlier = one_line(parent.background.removeprefix("Before: "), 200)
    if not topics:
        return earlier
    text = f"Before: {topics}"
    if earlier != FIRST:
        text += f" (and earlier: {earlier})"
    return text

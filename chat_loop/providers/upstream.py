"""Read what a refusal says, however deep services have wrapped it: in objects, lists, JSON inside
a string, Python's notation inside a string, or a web page.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping

from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.redact import redact_text

MAX_MESSAGE = 300  # characters of a server's own message that are shown
MAX_TEXT = 20_000  # characters of one text that are read
MAX_DEPTH = 8  # objects and texts inside each other
MAX_ITEMS = 20  # of one list

_MESSAGES = frozenset(
    ("message", "msg", "error", "errormsg", "errormessage", "detail", "htmlmessage", "raw", "text")
)
_CODES = frozenset(
    ("code", "type", "status", "errortype", "errorcode", "reason", "statuscode", "httpcode")
)
_MARKS = str.maketrans("", "", "_-")
_CLASS = re.compile(r"\b(?:\w+\.)?\w+(?:Error|Exception)\b:?")
_STATUS = re.compile(r"\berror code:? (\d{3})\b", re.IGNORECASE)
_TITLE = re.compile(r"<title>([^<]*)", re.IGNORECASE)


class ErrorDetails(Struct):
    """What a refusal says. `codes` are names of errors, the statuses of wrapped refusals included,
    and `around` is what stands around the innermost message.
    """

    message: str = ""
    codes: list[str] = []
    around: list[str] = []
    fields: dict[str, object] = {}  # numbers and texts by their names, without `_` and `-`
    provider: str = ""  # the service behind a router
    name: str = ""  # the code or type of the innermost error, in lower case
    is_page: bool = False
    depth: int = 0

    @property
    def status(self) -> int | None:
        """The HTTP status that the innermost refusal names."""
        codes = [int(code) for code in self.codes if code.isdecimal() and len(code) == 3]
        return next((code for code in reversed(codes) if 400 <= code < 600), None)

    @property
    def ending(self) -> str:
        """The end of a sentence: `: ` and the message, if there is one, with a full stop."""
        message = short(f"{self.provider}: {self.message}" if self.provider else self.message)
        ends = message.rstrip("\"'”’»)]}").endswith((".", "!", "?", "…", "。", "！", "？"))
        return (f": {message}" if message else "") + ("" if ends else ".")


def read(body: object) -> ErrorDetails:
    """Return what the body of a refusal says."""
    details = ErrorDetails()
    _read_value(body, details, 0)
    details.message = details.message.strip()
    return details


def short(text: str) -> str:
    """Return `text` in one short line without secrets, since servers echo keys."""
    return one_line(redact_text(" ".join(text.split())), MAX_MESSAGE)


def _read_value(value: object, details: ErrorDetails, depth: int) -> None:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        _read_text(value, details, depth)
    elif isinstance(value, Mapping):
        _read_object(value, details, depth)
    elif isinstance(value, list | tuple):
        for item in value[:MAX_ITEMS]:
            if isinstance(item, Mapping):
                _read_object(item, details, depth)


def _read_object(value: Mapping[object, object], details: ErrorDetails, depth: int) -> None:
    if loc := value.get("loc"):  # the wrong field, as pydantic names it
        field = ".".join(map(str, loc)) if isinstance(loc, list | tuple) else str(loc)
        _read_text(f"{field}: {value.get('msg')}", details, depth + 1)
        details.codes.append(str(value.get("type")))
        return
    if code := value.get("code") or value.get("type"):
        details.name = short(str(code))[:80].strip().lower()
    for key, member in value.items():
        name = str(key).translate(_MARKS).lower()
        if isinstance(member, Mapping | list | tuple):
            _read_value(member, details, depth + 1)
        elif name in _MESSAGES and isinstance(member, str):
            _read_text(member, details, depth)
        elif name == "providername" and isinstance(member, str):
            details.provider = member
        elif type(member) in (str, int, float):
            details.fields.setdefault(name, member)
            if name in _CODES:
                details.codes.append(str(member)[:80])


def _read_text(text: str, details: ErrorDetails, depth: int) -> None:
    """Read a text, or what is wrapped in it."""
    text = text[:MAX_TEXT].strip()
    if text.startswith("<"):
        title = _TITLE.search(text)
        if title is not None:
            text = title[1]
            details.is_page = True
        elif re.match("<(!|html)", text, re.IGNORECASE):
            text = ""
            details.is_page = True
    details.codes += [name.rpartition(".")[2].rstrip(":") for name in _CLASS.findall(text)]
    details.codes += _STATUS.findall(text)
    for start, value in _wrapped(text):
        details.around.append(text[:start])
        before = details.message, details.depth
        _read_value(value, details, depth + 1)
        if (details.message, details.depth) != before:
            return
    is_deeper = (depth, len(text)) > (details.depth, len(details.message))
    if text and (is_deeper or not details.message):
        details.around.append(details.message)
        details.message = text
        details.depth = depth
    else:
        details.around.append(text)


def _wrapped(text: str) -> Iterator[tuple[int, object]]:
    """Yield the object or list that stands in a text, and where it begins."""
    start = min((at for at in (text.find("{"), text.find("[{")) if at >= 0), default=-1)
    if start < 0:
        return
    try:
        yield start, json.JSONDecoder().raw_decode(text, start)[0]
        return
    except (ValueError, RecursionError):
        pass
    end = text.rfind("]" if text[start] == "[" else "}")
    try:
        with warnings.catch_warnings():  # of escapes that Python does not know
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text[start : end + 1])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return
    yield start, value

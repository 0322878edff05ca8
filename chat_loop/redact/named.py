"""Secrets that are known by what they are called: `password = …`, `"api_key": "…"`, `--token …`,
`Das Passwort ist …`.

A name alone proves nothing: most values beside such names in a conversation about code are calls,
variables, types and placeholders. So the value decides, and how strictly depends on who makes it
(people choose passwords, machines tokens) and on how it is written (a quoted text is a value; a
bare word after a colon rarely is one).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat_loop.redact.values import Span, Way, is_chosen, is_made

_AHEAD = 128
"""How much of a bare value decides on it; when it counts, the rest of the run goes with it."""

_NAME = re.compile(
    r"(?P<chosen>passw(?:or[dt]|d)|pass(?:phrase|code)?|pwd|kennwort|mot[ _-]de[ "
    r"_-]passe|motdepasse|mdp|contrase[ñn]a"
    r"|clave|senha|wachtwoord)"
    r"|secret|token|credentials?|jeton|cl[ée]f?[ _-]d[’']?(?:e[ _-])?(?:l[’'])?api|cl[ée][ "
    r"_-]api|key|schl(?:ü|ue)ssel"
    r"|sig"
)
_KEYS_OF = (
    *(
        "api",
        "access",
        "secret",
        "private",
        "auth",
        "account",
        "encryption",
        "signing",
        "master",
        "service",
        "app",
    ),
    *(
        "client",
        "session",
        "jwt",
        "storage",
        "subscription",
        "license",
        "shared",
        "openai",
        "anthropic",
        "zugangs",
    ),
    *("zugriffs", "geheimer"),
)
"""What makes a key a secret one, other than `_KEY` in capitals."""
_PUBLIC = (
    "next",
    "page",
    "continuation",
    "lock",
    "change",
    "sync",
    "request",
    "idempotency",
    "cancellation",
    "resume",
)
"""What makes a token none that opens anything."""
_WHOLE = ("pass", "pwd", "mdp", "clave", "sig", "senha", "jeton")
"""Names that are parts of other words."""

_AFTER = re.compile(
    r"\d{0,2}[\\\"'`\])*_}]{0,6}"
    r"(?:(?P<colon>[ \t]{0,8}[:：](?!=))[ \t]{0,8}"
    r"(?:(?:str|string|bytes|secretstr|optional\[\w{1,10}\])[ \t]{0,4}=[ \t]{0,4})?"
    r"|(?P<tight>=)(?![=\s])"
    r"|[ \t]{0,8}(?:=>|:=|->|={1,3}|!=|\|)[ \t]{0,8}"
    r"|(?P<tag>>)(?=[^<\n]{1,256}</)"
    r"|[ \t]{1,8}value[\"']?[ \t]{0,3}[=:][ \t]{0,3}"
    r"|(?:,|[ \t]{0,4}\n)[ \t]{0,40}[\"']?value[\"']?[ \t]{0,3}[=:][ \t]{0,3}"
    r"|(?P<apart>[ \t]{0,3},?[ \t]{1,4}(?=[\"'`„“«])|,(?=[\"'])|\((?=[\"']))"
    r"|(?P<said>[ \t]{1,3}(?:is|was|to|ist|lautet|war|est|était|es|era)(?:[ \t](?:now|set "
    r"to|jetzt))?[ \t:]{1,3})"
    r"|(?P<flag>[ \t]{1,4}))"
    r"[*_]{0,2}[ \t]{0,2}"
)
"""From the name to its value, in lower case; the group says how they are joined."""

_NEXT = (
    r"(?:user|uid|name|host|port|data|db|server|encrypt|trust|ssl|tls|integrated|initial|persist|pool|max|min|timeout|conn"
    r"|application|endpoint|account|shared|default|protocol|grant|client|scope|redirect|state|code|response|expires|email"
    r"|format|id|api)[\w .-]{0,30}"
)
"""Names that follow a password in connection strings and forms; any name at all would cut passwords
short.
"""
_BARE = (
    r"(?:[^\s\ufdd0;&,\"'`<\\|]|[;,&](?!\s|\Z|" + _NEXT + r"[ ]?=)"
    r"|[\"'`](?![\s,;:)\]}>/&|.]|\Z)|<(?!/?[a-z][a-z0-9-]{0,15}(?:[ /][^<>\n]{0,60})?>)|\|(?!\s|\Z)"
    r"|\\(?![nrt](?:[a-z_][\w.-]{0,40}\\?[\"']?[=:]|\\|[\"'\s]|\Z)|[\"']))"
)
_VALUE = re.compile(
    r"[bfrun]{0,2}(?P<quote>\\{0,3}[\"'`])(?!(?P=quote))(?P<quoted>(?:\\[^\n\ufdd0]|[^\\\n\ufdd0]){1,400}?)(?P=quote)"
    r"|[\"'`„“”«‚‘]?(?P<bare>" + _BARE + rf"{{1,{_AHEAD}}}+)"
)
_REST = re.compile(_BARE + r"*+")
_FLAG = re.compile(r"(?:(?<![\w-])--?[a-z][a-z0-9_-]{0,30}|login[ \t]+\S{1,64}[ \t]+[a-z]{4,8})\Z")
_CALL = re.compile(r"[(,][ \t\n]{0,40}[\w.]{0,40}\Z")
_QUERY = re.compile(r"[?&][\w.-]{0,30}\Z")
_LABEL = re.compile(r"(?:\A|\n)[ \t>*-]*+[\w .-]*+\Z")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_OPENERS = {")": "(", "]": "[", "}": "{", ">": "<", "`": "`"}


def secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values beside names of secrets. `lowered`: `text` in lower case, character by
    character.
    """
    done = 0
    for name in _NAME.finditer(lowered):
        if name.start() < done or not _is_name(text, lowered, name):
            continue
        joint = _joint(lowered, name)
        value = _VALUE.match(lowered, joint.end()) if joint else None
        if joint is None or value is None:
            continue
        start, end = _bounds(text, lowered, name, value)
        judge = is_chosen if name["chosen"] else is_made
        if start < end and judge(text[start:end], _way(lowered, name, joint, value)):
            if end - start >= _AHEAD and not value["quote"]:
                end = _rest(lowered, end)
            done = end
            yield start, end, "password" if name["chosen"] else "token"


def _is_name(text: str, lowered: str, name: re.Match[str]) -> bool:
    """Whether a word, which may be in a longer one, is the name of a secret: `dbPass`, not
    `compass`.
    """
    at, word = name.start(), name[0]
    before, owner = text[at - 1 : at], lowered[max(0, at - 14) : at].rstrip("-_ .")
    if lowered[name.end() : name.end() + 1].isalpha():
        return False
    if word in _WHOLE:
        hump = text[at].isupper() and before.islower()
        return hump or not before.isalpha() or owner.endswith(("db", "user", "root"))
    if word == "key" or word.startswith("schl"):
        shouted = before in ("_", "-") and text[at : at + 3].isupper()
        return shouted or owner.endswith(_KEYS_OF)
    if word == "token":
        return not owner.endswith(_PUBLIC)
    return word != "secret" or before != ":"


def _joint(lowered: str, name: re.Match[str]) -> re.Match[str] | None:
    """What joins a name to its value; None where nothing does."""
    joint = _AFTER.match(lowered, name.end())
    if joint is None:
        return None
    if joint["flag"]:
        return joint if _FLAG.search(lowered[max(0, name.start() - 110) : name.end()]) else None
    if name[0] in _WHOLE and (
        joint["apart"] or joint["said"] or lowered.startswith(" :", name.end())
    ):
        return None  # "if you pass `x`", "pass :class:`x`"
    return joint


def _bounds(text: str, lowered: str, name: re.Match[str], value: re.Match[str]) -> tuple[int, int]:
    """Where a value starts and ends; a bare one ends with its first _AHEAD characters when it goes
    on.
    """
    if value["quote"]:
        return value.span("quoted")
    start, end = value.span("bare")
    cut = text.find("&", start, end)
    if cut >= 0 and _QUERY.search(lowered[max(0, name.start() - 40) : name.start()]):
        end = cut
    if end - start >= _AHEAD:
        return start, end
    while start < end:  # the sentence's punctuation, and brackets that close around it
        last = text[end - 1]
        opener = _OPENERS.get(last)
        if last not in ".,;:”“»’" and (not opener or opener in text[start:end]):
            break
        end -= 1
    if end - start > 4 and text[start : start + 2] == text[end - 2 : end] in ("**", "__"):
        start, end = start + 2, end - 2
    return start, end


def _rest(lowered: str, end: int) -> int:
    found = _REST.match(lowered, end)
    return found.end() if found else end


def _way(lowered: str, name: re.Match[str], joint: re.Match[str], value: re.Match[str]) -> Way:
    """How a value is joined to its name."""
    before = lowered[max(0, name.start() - 80) : name.start()]
    if value["quote"]:
        return "apart" if joint["apart"] or joint["said"] else "quoted"
    if joint["said"]:
        return "said"
    if joint["tag"] or (joint["tight"] and not _CALL.search(before)):
        return "tight"
    if joint["colon"] and _LABEL.search(before) and _LINE_END.match(lowered, value.end()):
        return "alone"
    return "loose"

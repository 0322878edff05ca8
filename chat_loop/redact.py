"""Redact secrets from text that leaves the transcript: for a summary, a log, an index, an export.

Three kinds of evidence count: the program's own keys (`keys_from`); the shape of a value or of the
header around it, such as tokens of known services, private keys, cards and `Authorization: …`; and
a name beside it, as in `password = …`. There is no rule for "looks random" alone: it would take
hashes, ids and images away from a conversation about code.

Every step is linear in the text: a pattern either reads ahead a bounded number of characters, or it
is a possessive run that is read once.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

_MARK = r"\[REDACTED:[a-z-]{2,16}:([0-9a-f]{1,6})\]"
_FILLER = "\ufdd0"
"""Stands for the marks of an earlier redaction: a noncharacter, which no value contains."""
_JUDGED = 128
"""Characters of a value that decide on it. The rest of the run goes with it."""
_own_keys: list[Callable[[], frozenset[str]]] = []


class Secret(NamedTuple):
    """A secret in a text: its first index, the index behind it, and its kind."""

    start: int
    end: int
    kind: str


class Redactor:
    """Redacts the texts of one document: each secret becomes `[REDACTED:kind:number]`.

    Equal secrets get equal numbers. The numbers continue after those of marks that the texts
    contain already. Redacting a text twice changes nothing.
    """

    def __init__(self, *marked: str) -> None:
        self._numbers: dict[str, int] = {}
        self._last = 0
        for text in marked:
            self._count(text)

    def __call__(self, text: str) -> str:
        self._count(text)
        for _ in range(8):  # removing one may uncover another
            secrets = find_secrets(text)
            if not secrets:
                break
            parts, done = [], 0
            for start, end, kind in secrets:
                number = self._numbers.setdefault(text[start:end], self._last + 1)
                self._last = max(self._last, number)
                parts += [text[done:start], f"[REDACTED:{kind}:{number}]"]
                done = end
            text = "".join(parts) + text[done:]
        return text

    def _count(self, text: str) -> None:
        if "[REDACTED:" in text:
            numbers = (int(mark[1]) for mark in _find(_MARK, text) if mark[1].isdecimal())
            self._last = max([self._last, *(number for number in numbers if number < 100_000)])


def redacted(text: str) -> str:
    """Return a text, which is a document of its own, with a mark in the place of each secret."""
    return Redactor()(text)


def keys_from(source: Callable[[], Iterable[str]]) -> None:
    """Redact the values of `source`, the keys that the program uses, wherever they stand.

    The source is asked once, when the first text is redacted. Values of less than 12 characters,
    which may be a part of any word, and plain words, which servers without keys accept, stay.
    """

    def keys() -> frozenset[str]:
        return frozenset(
            key
            for key in source()
            if len(key) >= 12 and not (key.isalpha() and (key.isupper() or key[1:].islower()))
        )

    _own_keys[:] = [cache(keys)]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in order and without overlaps. Marks are no secrets."""
    if "[REDACTED:" in text:
        text = _compiled(_MARK).sub(lambda mark: _FILLER * len(mark[0]), text)
    lowered = text.replace("\u0130", "i").lower()  # the only character that lowers to two
    found = [
        Secret(*match.span(), "key")
        for keys in _own_keys
        for key in keys()
        if key in text
        for match in re.finditer(re.escape(key), text)
    ]
    for kind, anchors, pattern, is_secret in _RULES:
        source = lowered if kind in _FOLDED else text
        if any(anchor in source for anchor in anchors.split()):
            for match in _find(pattern, source):
                start, end = match.span(match.lastindex or 0)
                value = text[start:end].rstrip(".")
                if is_secret(value):
                    found.append(Secret(start, start + len(value), kind))
    found += _named(text, lowered)
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, secret.end))
        else:
            merged.append(secret)
    return merged


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first used: all of them would delay the prompt by 12 ms."""
    return re.compile(pattern)


def _find(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return _compiled(pattern).finditer(text)


def _full(pattern: str, text: str) -> bool:
    return _compiled(pattern).fullmatch(text) is not None


def _has(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


# Shapes: values that show what they are, and headers and addresses that hold them


def _is_issued(value: str) -> bool:
    """Return True for a token that a service issued, False for words and placeholders."""
    prefix = next(prefix for prefix in _PREFIXES if value.startswith(prefix))
    rest = value.removeprefix(prefix)
    if len(set(rest)) < 6 or _is_placeholder(rest):
        return False
    return prefix in ("AKIA", "ASIA") or not _is_wordy(rest, humped=False)


def _is_card(value: str) -> bool:
    """Return True for digits whose last one is the check digit of the others (Luhn)."""
    digits = [int(sign) for sign in reversed(value) if sign.isdigit()]
    doubled = (digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_credential(value: str) -> bool:
    value = value[:_JUDGED]
    return not (_is_placeholder(value) or _is_code(value) or _is_wordy(value))


def _is_user_and_password(value: str) -> bool:
    """Return True for `user:password` in base64."""
    digits = value.rstrip("=")
    try:
        plain = binascii.a2b_base64(digits + "=" * (-len(digits) % 4)).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


_PLAIN = r"[A-Za-z0-9]"
_WIDE = r"[A-Za-z0-9_-]"
_DOTTED = r"[A-Za-z0-9_.%-]"
_PATH = r"[A-Za-z0-9_/+-]"
_TOKENS = (
    ("anthropic", _WIDE, 20, "sk-ant-"),
    ("openai", _WIDE, 20, "sk-proj- sk-svcacct- sk-admin-"),
    ("api-key", _WIDE, 20, "sk-or- sk-lf- gsk_ xai- pplx- r8_ fw_ tvly- pcsk_ nvapi- csk-"),
    ("api-key", _PLAIN, 20, "sk-"),
    ("google", _WIDE, 30, "AIza AQ.A"),
    ("google", _DOTTED, 20, "GOCSPX- ya29."),
    ("aws", r"[A-Z0-9]", 16, "AKIA ASIA"),
    ("github", _WIDE, 30, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    ("gitlab", _DOTTED, 20, "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas-"),
    ("slack", _DOTTED, 15, "xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs- xapp-"),
    ("slack", _PATH, 20, "hooks.slack.com/services/"),
    ("stripe", _PLAIN, 16, "sk_live_ rk_live_ sk_test_ rk_test_"),
    ("stripe", _PATH, 24, "whsec_"),
    ("twilio", r"[0-9a-f]", 32, "SK AC"),
    ("sendgrid", _DOTTED, 40, "SG."),
    ("npm", _PLAIN, 30, "npm_"),
    ("pypi", _WIDE, 50, "pypi-"),
    ("huggingface", _PLAIN, 30, "hf_ api_org_"),
    ("token", _WIDE, 30, "dop_v1_ doo_v1_ dckr_pat_ shpat_ shpca_ shppa_ shpss_ lin_api_ ntn_"),
    ("token", _WIDE, 30, "figd_ PMAK- sbp_ glsa_ glc_"),
    ("token", _DOTTED, 20, "hvs. dp.pt. sntrys_ sntryu_ NRAK- AGE-SECRET-KEY-1 sq0atp- sq0csp-"),
    ("token", _DOTTED, 20, "pscale_tkn_ pscale_pw_"),
    ("token", r"[0-9a-f]", 32, "dapi"),
)
"""The kind, a character after the prefix, the least number of them, and the prefixes."""
_PREFIXES = tuple(prefix for *_, prefixes in _TOKENS for prefix in prefixes.split())

_AWS_SECRET = r"A[KS]IA[A-Z0-9]{16}[^\ufdd0]{0,160}?(?<![\w/+=])([\w/+]{40})(?![\w/+=])"
"""The secret that stands beside an id."""
_JWT = rf"eyJ{_WIDE}*+(?:\.{_WIDE}*+){{0,4}}+"
_BETWEEN = r"[\s\"',>|#*]|\\[nrt]|\+(?=[\s\"'])"
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:(?:{_BETWEEN}|[A-Z][A-Za-z-]{{2,20}}: [^\n]{{0,120}}\n)*+[A-Za-z0-9+/=]{{16,}}+)++"
    rf"(?:(?:{_BETWEEN})*+[A-Za-z0-9+/=]++(?![ \t]+\w))?"
    rf"(?:(?:{_BETWEEN})*+-----END [A-Z0-9 ]{{0,40}}-----)?"
)
"""A block that breaks off counts as far as its lines look like one, with the short line behind."""
_CARD = (
    r"(?<!\w)(?<!\d[.,])(?=(3[47]\d\d[ -]?\d{6}[ -]?\d{5}"
    r"|3(?:0[0-5]|[689]\d)\d[ -]?\d{6}[ -]?\d{4}"
    r"|(?:4\d{3}|5[0-8]\d\d|2[2-7]\d\d|35\d\d|6\d{3})(?:[ -]?\d{4}){3}"
    r"|6\d{3}(?:[ -]?\d{4}){3}[ -]?\d{3})(?!\w|[.,]\d))"
)
_USERINFO = (
    r"://[^\s/?#:@\"'<>`\ufdd0]{0,100}:"
    r"(?:([^\s/\"'<>`\ufdd0]{1,256})|(?!\d{2,5}[/?#])([^\s\"'<>`\ufdd0]{1,256}))@(?=[\w\[])"
)
"""`scheme://user:password@host`; the password may contain `@`, `#`, `?`, `/`."""
_AUTHORIZATION = (
    r"authorization[\\\"'\])]{0,4}[ \t]{0,8}"
    r"(?:[:=]|,(?=[ \t]{0,8}[\"'`](?:bearer|basic|token)))[ \t]{0,8}[\\\"'`]{0,4}"
    r"(?:(?:bearer|basic|token|bot|apikey|api-key)[ \t]{1,8})?([^\s\"'`,;<>\\\ufdd0]{6,}+)"
)
_USER_OPTION = (
    r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]{1,2}[\"']?[^\s:\"'@/]{1,64}:([^\s\"'\ufdd0]{1,128})"
)


def _token_pattern(prefixes: str, sign: str, least: int) -> str:
    before = r"(?:(?<![^\W_])|(?<=\\[nrt]))" if prefixes == "sk-" else ""  # disk-, task-
    return rf"{before}((?:{'|'.join(map(re.escape, prefixes.split()))}){sign}{{{least},}}+)"


_FOLDED = ("authorization", "password")
"""The kinds whose patterns are for small letters."""
_RULES: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    *(
        (kind, prefixes, _token_pattern(prefixes, sign, least), _is_issued)
        for kind, sign, least, prefixes in _TOKENS
    ),
    ("aws", "AKIA ASIA", _AWS_SECRET, bool),
    ("jwt", "eyJ", _JWT, lambda value: 12 <= value.find(".") <= len(value) - 10),
    ("private-key", "-----BEGIN", _PRIVATE_KEY, bool),
    ("card", "2 3 4 5 6", _CARD, _is_card),
    ("url-password", "://", _USERINFO, lambda value: len(value) > 2 and _is_meant(value)),
    ("authorization", "authorization", _AUTHORIZATION, _is_credential),
    ("authorization", "bearer", r"bearer[ \t]{1,8}([a-z0-9_.~+/=-]{16,}+)", _is_credential),
    ("authorization", "basic", r"basic[ \t]{1,8}([a-z0-9+/_-]{6,}+={0,2})", _is_user_and_password),
    ("password", "-u", _USER_OPTION, lambda value: _is_mixed(value) and _is_meant(value)),
)
"""A secret's kind, the texts one of which stands in it, its pattern, whose last group is the value
(without a group all of it), and the judge of a value.
"""


# Names: values beside the name of a secret
# A name alone proves nothing: most values beside such names in a conversation about code are calls,
# variables, types and placeholders. The value decides, and how strictly depends on who makes it
# (people choose passwords, machines make tokens) and on how it is joined to the name.

_Joint = Literal["quoted", "tight", "alone", "apart", "loose", "said"]
"""The ways a value is joined to its name, roughly from the surest on: `x = "…"`; `X=…`; `X: …` and
nothing more in the line; `x "…"`, `f(x, "…")`; other bare words, such as `x = …`; "the x is …".
"""

_NAME = (
    r"(?P<password>passw(?:or[dt]|d)|pass(?:phrase|code)?|pwd|kennwort|mot[ _-]de[ _-]passe"
    r"|motdepasse|mdp|contrase[ñn]a|clave|senha|wachtwoord)"
    r"|secret|token|credentials?|jeton|cl[ée]f?[ _-]d[’']?(?:e[ _-])?(?:l[’'])?api|cl[ée][ _-]api"
    r"|key|schl(?:ü|ue)ssel|sig"
)
_OWNER_OF_SECRET_KEY = (
    r"(?:api|access|secret|private|auth|account|encryption|signing|master|service|app|client"
    r"|session|jwt|storage|subscription|license|shared|openai|anthropic|zugangs|zugriffs"
    r"|geheimer)\Z"
)
_OWNER_OF_PUBLIC_TOKEN = (
    r"(?:next|page|continuation|lock|change|sync|request|idempotency|cancellation|resume)\Z"
)
_PARTS_OF_WORDS = ("pass", "pwd", "mdp", "clave", "sig", "senha", "jeton")

_AFTER_NAME = (
    r"\d{0,2}[\\\"'`\])*_}]{0,6}"
    r"(?:(?P<colon>[ \t]{0,8}[:：](?!=))[ \t]{0,8}"
    r"(?:(?:str|string|bytes|secretstr|optional\[\w{1,10}\])[ \t]{0,4}=[ \t]{0,4})?"
    r"|(?P<tight>=)(?![=\s])"
    r"|[ \t]{0,8}(?:=>|:=|->|={1,3}|!=|\|)[ \t]{0,8}"
    r"|(?P<tag>>)(?=[^<\n]{1,256}</)"
    r"|[ \t]{1,8}value[\"']?[ \t]{0,3}[=:][ \t]{0,3}"
    r"|(?:,|[ \t]{0,4}\n)[ \t]{0,40}[\"']?value[\"']?[ \t]{0,3}[=:][ \t]{0,3}"
    r"|(?P<apart>[ \t]{0,3},?[ \t]{1,4}(?=[\"'`„“«])|,(?=[\"'])|\((?=[\"']))"
    r"|(?P<said>[ \t]{1,3}(?:is|was|to|ist|lautet|war|est|était|es|era)"
    r"(?:[ \t](?:now|set to|jetzt))?[ \t:]{1,3})"
    r"|(?P<option>[ \t]{1,4}))"
    r"[*_]{0,2}[ \t]{0,2}"
)
"""The signs between a name and its value, in lower case. The group tells how they join them."""

_NEXT_NAME = (
    r"(?:user|uid|name|host|port|data|db|server|encrypt|trust|ssl|tls|integrated|initial|persist"
    r"|pool|max|min|timeout|conn|application|endpoint|account|shared|default|protocol|grant|client"
    r"|scope|redirect|state|code|response|expires|email|format|id|api)[\w .-]{0,30}"
)
"""Names that follow a password in connection strings and forms. Any name would cut passwords."""
_BARE = (
    r"(?:[^\s\ufdd0;&,\"'`<\\|]|[;,&](?!\s|\Z|" + _NEXT_NAME + r"[ ]?=)"
    r"|[\"'`](?![\s,;:)\]}>/&|.]|\Z)|<(?!/?[a-z][a-z0-9-]{0,15}(?:[ /][^<>\n]{0,60})?>)|\|(?!\s|\Z)"
    r"|\\(?![nrt](?:[a-z_][\w.-]{0,40}\\?[\"']?[=:]|\\|[\"'\s]|\Z)|[\"']))"
)
"""A character of a value without quotes."""
_VALUE = (
    r"[bfrun]{0,2}(?P<quote>\\{0,3}[\"'`])(?!(?P=quote))"
    r"(?P<quoted>(?:\\[^\n\ufdd0]|[^\\\n\ufdd0]){1,400}?)(?P=quote)"
    rf"|[\"'`„“”«‚‘]?(?P<bare>{_BARE}{{1,{_JUDGED}}}+)"
)
_OPTION = r"(?:(?<![\w-])--?[a-z][a-z0-9_-]{0,30}|login[ \t]+\S{1,64}[ \t]+[a-z]{4,8})\Z"
_IN_CALL = r"[(,][ \t\n]{0,40}[\w.]{0,40}\Z"
_IN_URL = r"[?&][\w.-]{0,30}\Z"
_LABEL = r"(?:\A|\n)[ \t>*-]*+[\w .-]*+\Z"
_OPENERS = {")": "(", "]": "[", "}": "{", ">": "<", "`": "`"}


def _named(text: str, lowered: str) -> Iterator[Secret]:
    done = 0
    for name in _find(_NAME, lowered):
        if name.start() < done or not _names_a_secret(text, lowered, name):
            continue
        after = _compiled(_AFTER_NAME).match(lowered, name.end())
        value = _compiled(_VALUE).match(lowered, after.end()) if after else None
        if after is None or value is None:
            continue
        joint = _joint(lowered, name, after, value)
        start, end = _bounds(text, lowered, name, value)
        is_secret = _is_password if name["password"] else _is_token
        if joint and start < end and is_secret(text[start:end], joint):
            if end - start >= _JUDGED and not value["quote"]:
                rest = _compiled(_BARE + r"*+").match(lowered, end)
                end = rest.end() if rest else end
            done = end
            yield Secret(start, end, "password" if name["password"] else "token")


def _names_a_secret(text: str, lowered: str, name: re.Match[str]) -> bool:
    """Return True when a word, or a part of one, names a secret: `dbPass` does, `compass` not."""
    at, word = name.start(), name[0]
    before, owner = text[at - 1 : at], lowered[max(0, at - 14) : at].rstrip("-_ .")
    if lowered[name.end() : name.end() + 1].isalpha():
        return False
    if word in _PARTS_OF_WORDS:
        hump = text[at].isupper() and before.islower()
        return hump or not before.isalpha() or owner.endswith(("db", "user", "root"))
    if word == "key" or word.startswith("schl"):
        capitals = before in ("_", "-") and text[at : at + 3].isupper()
        return capitals or _has(_OWNER_OF_SECRET_KEY, owner)
    if word == "token":
        return not _has(_OWNER_OF_PUBLIC_TOKEN, owner)
    return word != "secret" or before != ":"


def _bounds(text: str, lowered: str, name: re.Match[str], value: re.Match[str]) -> tuple[int, int]:
    """Return where a value starts and ends, of a long bare value its first _JUDGED characters."""
    if value["quote"]:
        return value.span("quoted")
    start, end = value.span("bare")
    cut = text.find("&", start, end)
    if cut >= 0 and _has(_IN_URL, lowered[max(0, name.start() - 40) : name.start()]):
        end = cut
    if end - start >= _JUDGED:
        return start, end
    while start < end:  # the punctuation of the sentence, and brackets that close around it
        last = text[end - 1]
        opener = _OPENERS.get(last)
        if last not in ".,;:”“»’" and (not opener or opener in text[start:end]):
            break
        end -= 1
    if end - start > 4 and text[start : start + 2] == text[end - 2 : end] in ("**", "__"):
        start, end = start + 2, end - 2
    return start, end


def _joint(
    lowered: str, name: re.Match[str], after: re.Match[str], value: re.Match[str]
) -> _Joint | None:
    """Return how a value is joined to its name; None when it belongs to something else."""
    before = lowered[max(0, name.start() - 110) : name.start()]
    if after["option"] and not _has(_OPTION, before + name[0]):
        return None
    prose = after["apart"] or after["said"] or lowered.startswith(" :", name.end())
    if name[0] in _PARTS_OF_WORDS and prose:  # "if you pass `x`", "pass :class:`x`"
        return None
    if value["quote"]:
        return "apart" if after["apart"] or after["said"] else "quoted"
    if after["said"]:
        return "said"
    if after["tag"] or (after["tight"] and not _has(_IN_CALL, before)):
        return "tight"
    ends = _compiled(r"[ \t]*(?:\n|\Z)").match(lowered, value.end())
    return "alone" if after["colon"] and ends and _has(_LABEL, before) else "loose"


# Values: a secret, or a placeholder, code, a word, a text for people

_WORD = r"(?:[A-Za-z]?[a-z]{1,22}|[A-Z]{1,23})\d{0,3}|\d+(?:[A-Za-z]{1,2}\d{0,2})?"
_HUMPED = r"[A-Z]{0,4}[a-z]+(?:[A-Z]{1,4}[a-z]+){0,9}[A-Z]{0,4}\d{0,2}"
_LETTERS = r"[A-Za-z]{1,40}(?:\d{1,2}[a-z]{0,12})?|\d+"
_SIGNS = r"[^A-Za-z0-9]+"
_SPECIAL = r"[!@#$%^&*+=?~§]"
_CODE = (
    r"[A-Za-z_$][\w$]{1,60}(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]{0,60}){0,9}"
    r"[(\[][\w\s.,=&:*'\"()\[\]@/+%-]*"
    r"|[A-Za-z_$][\w$]{0,60}(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]{0,60}){1,9}[!?]?"
    r"|(?:\.{0,2}|~)/[\w./-]*|[a-z]:\\[\w\\.-]*|[a-z]+://[\w./-]*"
)
_REGEX = r"\(?\[\^|\\[wdsSW]|\(\?[:P]|\.[*+]\??\)|a-z"
_SECRET_NAMED = (
    r"passw|passphrase|token|secret|wort\b|contrase|(?<![a-z])(?:keys?|pwd|pass|auth|cred"
    r"|credentials?|user|username|login|config|settings?|values?|env|params?|args?)(?![a-z])"
)
_TECHNICAL = (
    r"(?:base|sha|md|aes|rsa|utf|int|uint|float|windows|win|python|argon|blake|bcrypt|scrypt"
    r"|pbkdf|oauth|http|ed|secp|hs|rs|es|[hvx])[-_]?\d{1,5}[a-z]{0,3}(?:[-_.][\w.-]*)?"
)
_STAND_IN = (
    r"<.*>?|%\w+%|\[.*\]|\(.*\)[?*+]?|\$[A-Za-z_][\w:.]*|@\w+@?|[&*][a-z]\w*"
    r"|\{[\w\s.:!'\"()\[\]-]*\}|%\(?\w*\)?[sdr]"
)
_TEMPLATE = r"\$\{|\$\(|\{\{|#\{.*\}\Z|\{[\w.]*\}\Z|%\(\w*\)[sdr]\Z"
_NEVER_IN_TOKENS = r"[\s\\\[\]{}|<>\"'`]"
_MASKED = r"\*{3}|•{3}|●{3}|\.{3}|…|x{5}|X{5}"
_MEANT = (
    r"your|example|placeholder|change[-_ ]?me|dummy|redacted|insert|replace|\bmy[-_ ]"
    r"|\bsome[-_ ]|here\b|todo"
)
_INTERFACE = (
    r"\b(?:must|enter|please|invalid|required?|wrong|incorrect|forgot|short|reset|least|match"
    r"|change|new|confirm|the|is|not|for|to|of|with|bitte|eingeben|oder|und|votre|le|la|su|el"
    r"|type|show|hide|strong|weak|min|max|characters?)\b"
)
_ORDINARY = """
none null nil true false undefined string str text bytes int bool boolean number object required
optional empty unset unknown missing invalid hidden masked value default input field type prompt
stdin self this other char varchar any yes no on off auto function async await const return
incorrect expired wrong correct plain basic plaintext hash hashed encrypted focus hover disabled
enabled readonly submit float uuid list dict array file path env pass password passwd passwort
kennwort secret username user forgotten vergessen geheim siehe unbekannt oublié
"""
_ORDINARY_WORDS = frozenset(_ORDINARY.split())


def _is_wordy(value: str, *, humped: bool = True) -> bool:
    """Return True for words, numbers and signs, as in an identifier or a path; no token is these.

    With `humped`, words written together count as words too: `getUserToken`.
    """
    if len(set(_compiled(r"[^\w\s./:,-]").findall(value))) > 2:
        return False
    for part in filter(None, _compiled(_SIGNS).split(value)):
        if not _full(_WORD, part):
            few = max(2, len(part) // (3 if len(part) < 16 else 5))  # capitals, none at random
            if not humped or sum(map(str.isupper, part)) > few or not _full(_HUMPED, part):
                return False
    return True


def _is_placeholder(value: str) -> bool:
    """Return True for a value that is missing: `<your-key>`, `${TOKEN}`, `xxxx`, `changeme`."""
    if _has(_MASKED, value) or "EXAMPLE" in value or not any(sign.isalnum() for sign in value):
        return True
    if _compiled(_TEMPLATE).match(value) or len(set(value)) < 3:
        return True
    return (_full(_STAND_IN, value) or _has(_MEANT, value.lower())) and _is_wordy(value)


def _is_code(value: str) -> bool:
    """Return True for an expression, a pattern or a path: `get_password()`, `/run/secrets`."""
    pattern = _compiled(_REGEX).search(value)
    if pattern:
        return pattern.start() == 0 or len(value) < 9
    parts = _compiled(_SIGNS).split(value)
    return _full(_CODE, value) and all(not part or _full(_LETTERS, part) for part in parts)


def _is_prose(value: str) -> bool:
    """Return True for a word about a secret, or a text that a person is to read."""
    plain = value.lower().strip(".,;:!?'\"()[]{} ")
    if plain in _ORDINARY_WORDS or value != value.strip():
        return True
    if not any(sign.isdigit() for sign in plain) and _has(_SECRET_NAMED, plain):
        return True
    ends = value[-1] in ".?:…" or plain.count(" ") > 7
    return " " in plain and (ends or _has(_INTERFACE, plain))


def _is_meant(value: str) -> bool:
    """Return True for what may be a password at all."""
    return not (_is_placeholder(value) or _is_prose(value))


def _is_mixed(value: str) -> bool:
    """Return True for letters with digits or signs among them, which are more than a word."""
    if len(value) < 6 or not any(sign.isalpha() for sign in value):
        return False
    if not any(sign.isdigit() for sign in value) and not _has(_SPECIAL, value) and _is_wordy(value):
        return False
    return not _full(_TECHNICAL, value.lower())


def _is_password(value: str, joint: _Joint) -> bool:
    """Return True for a password, which people choose: a word where only a value can stand."""
    if len(value) < 4 or not _is_meant(value):
        return False
    if joint == "quoted":
        return True
    if joint == "apart":
        return _is_mixed(value)
    if _is_code(value):
        return False
    word = len(value) >= 6 and value.isalpha() and value[1:].islower()
    if joint == "tight" or (joint == "alone" and word):
        return True
    if not _is_mixed(value) or (_is_wordy(value) and _has(_SECRET_NAMED, value.lower())):
        return False
    core = value.rstrip("!?")
    if joint != "said" or core.isalnum() or _has(_SPECIAL, core):
        return True
    return not _is_wordy(core, humped=False)


def _is_token(value: str, joint: _Joint) -> bool:
    """Return True for a token or a key, which machines make: long, and no words."""
    digits = any(sign.isdigit() for sign in value)
    if len(value) < (8 if joint in ("quoted", "tight") else 12) or _has(_NEVER_IN_TOKENS, value):
        return False
    if _is_wordy(value, humped=not digits or len(value) < 16) or _is_placeholder(value):
        return False
    if joint != "quoted" and _is_code(value):
        return False
    letters = any(sign.isalpha() for sign in value)
    return letters and (digits or (len(value) >= 16 and joint != "apart"))

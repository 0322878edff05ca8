"""A second parser of transcripts, written from docs/format.md alone, without chat_loop's code."""

import re
from datetime import datetime
from hashlib import sha256
from typing import Any

Values = dict[str, str]
Record = dict[str, Any]
MARKER = r"<!-- chat:([a-z-]{1,32})((?: [a-z_]{1,32}=[A-Za-z0-9_.:+/-]{1,128}){0,64}) -->\s*"
HIDDEN = "\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f⟦"
TABLE = """
session | id:id created:time parent:id mode:|print minor:int
restoration | at:time parent_created=of:time queries:int tokens:int grandparent:id depth:depth since:ref fresh:ref until:ref merged:id merged_until:ref | block 4
acknowledgment | number=n:int at:time | text 0 AGENT
reply | number=n:int at:time | text 0 AGENT
query | number=n:int at:time | text 1 You
attachment | number=n:int at:time media=type:word size:int sha256=sha:word width:int height:int | text 2
recall | number=n:int at:time | text 0
call | number=n:int at:time id:word name:word | arguments 0
result | number=n:int at:time id:word failed:flag given:number not_kept:int | text 0
opaque | number=n:int at:time model:word endpoint:word | text 0
left-out | number=n:int at:time reason:word | text 0 Left_out
undo | number=n:int at:time ref=of:ref session:id
redo | number=n:int at:time ref=of:ref session:id
model | at:time endpoint:word | text 0 Model
aside-reply | at:time | text 0 AGENT
shortened | at:time ref=of:ref session:id call:word part:result|query|reply tokens:int
covered | at:time last_ref=last:ref session:id | block 0
change | number=n:int at:time written:word replaced:word | text 0 Changed
compaction | first:word last:word before:int after:int why:word model:word cost:float decisions:int pins:int facts:int archived:int superseded:int
"""
NOTES = "pin Pinned, unpin Unpinned, name Named, tag Tagged, untag Untagged, setting Setting"
NOTES += ", agent Agent, aside Aside"
KINDS = {row.split(" | ")[0]: [*row.split(" | ")[1:], ""] for row in TABLE.strip().split("\n")}
KINDS |= {one.split()[0]: ["at:time", f"text 0 {one.split()[1]}"] for one in NOTES.split(", ")}
SEAL = "at:time reason:exit|compact|resume|clear source=summary:none|model|extracted covers:number"
SEAL += " digest=block:digest remade:flag"
STOP = "stop:end|length|refusal|tool|interrupted|error failed:flag"
USAGE = "input=in:int output=out:int cached:int written:int reasoning:int estimated:flag"
COSTS = r"\*(?:Time: (\S{1,31})s)?(?: \| )?(?:Tokens: (~?)[0-9,]+ \(([a-z0-9,: ]+)\))?(?: \|.*)?\*"
TYPES: dict[str, tuple[Any, str, str | None]] = {  # the reader, the pattern, the default
    "int": (int, "[0-9]{1,18}", "0"),
    "depth": (int, "[0-9]{1,18}", "2"),
    "number": (int, "[0-9]{1,18}", None),
    "digest": (str, "[0-9a-f]{16}", ""),
    "float": (float, ".+", None),
    "time": (datetime.fromisoformat, ".+", "1970-01-01T00:00:00+00:00"),
    "flag": (bool, "yes", ""),
    "word": (str, ".+", ""),
    "id": (str, "[0-9A-Za-z][0-9A-Za-z_-]{0,63}", ""),
    "ref": (str, "[0-9]{1,6}[.][0-9]{1,9}", ""),
}
FIELDS = ["Agent", "Agent Path", "Model", "Project", "Git Branch", "Git Commit", "Settings"]
FIELDS += ["Previous Session", "Name", "Title", "Endpoint", "Tools", "Effort", "Sampling"]
LISTS = "Topics Discussed, Decisions Made, Pending, Pinned, Key Facts, Files Touched, Tools Used"
NAMES = {f"**{one}:**": one.split()[0].lower() for one in LISTS.split(", ")}
NAMES["**Key Facts:**"] = "key_facts"


def parse(data: bytes) -> Record:
    """Return the records of a file without damage, under the names of the JSON export."""
    session: Record = {"header": None, "entries": [], "seal": None}
    tail: Record = {"summary": None, "compaction": None, "edited": False}
    kind, agent, given, body = "", "", Values(), list[str]()
    digest = ""
    entries = session["entries"]
    for line in data.decode().replace("\r\n", "\n").removeprefix("\ufeff").split("\n"):
        found = None if kind == "summary" else re.fullmatch(MARKER, line, re.ASCII)
        values = dict(pair.split("=") for pair in found[2].split()) if found else {}
        if line == "<!-- SESSION_SUMMARY_START -->":
            kind, body = "summary", []
        elif line == "<!-- SESSION_SUMMARY_END -->":
            kind, tail["summary"] = "", read_summary(body)
            digest = sha256("\n".join(body).encode()).hexdigest()[:16]
        elif found is None:
            body.append(line)
            kind = read_costs(line, entries[-1]) if kind == "ended" else kind
        elif found[1] == "sealed":
            seal = tail | read_values(SEAL, values) | read_spent(values)
            seal["edited"] = bool(digest and seal["digest"] not in ("", digest))
            session["seal"] = seal
        elif found[1] != "end":
            kind, given, body = found[1], values, []
        elif kind == "session":
            session["header"], agent = read_header(given, body)
        elif kind == "compaction":
            tail["compaction"] = read_values(KINDS[kind][0], given)
        elif kind in KINDS:
            entries.append(read_entry(kind, given, body, values, agent, [{}, *entries][-1]))
            kind = "ended"
    return session


def read_values(spec: str, given: Values) -> Record:
    result = {}
    for name, key, type_ in re.findall(r"(\w+)=?(\w*):(\S+)", spec):
        convert, pattern, otherwise = TYPES.get(type_, (str, type_, type_.split("|")[0]))
        value = given.get(key or name, "")
        known = value if re.fullmatch(pattern, value) else otherwise
        result[name] = None if known is None else convert(known)
    return result


def read_spent(given: Values) -> Record:
    usage = read_values(USAGE, given) if "in" in given else None
    return read_values("seconds=time:float", given) | {"usage": usage}


def read_costs(line: str, entry: Record) -> str:
    """Give a reply the seconds and the usage of a line below it; return the reader's next state."""
    costs = re.fullmatch(COSTS, line, re.ASCII)
    if costs is None or entry.get("usage", "") is not None or entry["seconds"] is not None:
        return "ended"
    time, about, counts = costs.groups(default="")
    values = dict(count.replace(",", "").split(": ") for count in counts.split(", ") if count)
    values |= {"time": time} if time else {}
    entry |= read_spent(values | ({"estimated": "yes"} if about else {}))
    return ""


def read_header(given: Values, lines: list[str]) -> tuple[Record, str]:
    """Return the header, and the agent's name as it stands in labels."""
    if given.get("minor", "") not in ("", "0", "1"):
        lines = [line.rstrip(" ") for line in lines]
    pairs = dict(line[2:].split(":** ", 1) for line in lines if ":** " in line)
    texts = {
        one.lower().replace(" ", "_"): unescaped(pairs.get(one, ""), "\n\t ") for one in FIELDS
    }
    texts["parent_path"] = texts.pop("previous_session")
    tags = [tag for tag in pairs.get("Tags", "").split(", ") if tag]
    header = read_values(KINDS["session"][0], given) | texts | {"tags": tags}
    return header, pairs.get("Agent", "").replace("⟦U+0020⟧", " ")


def read_entry(
    kind: str, given: Values, body: list[str], end: Values, agent: str, before: Record
) -> Record:
    shown = {"acknowledgment": "reply", "model": "switch"}.get(kind, kind)
    is_reply = kind in ("acknowledgment", "reply", "aside-reply")
    entry = {"kind": shown} | read_values(KINDS[kind][0], given)
    if "at" not in given and "n" in given and kind != "query":
        entry["at"] = before["at"] if before.get("number") == entry["number"] else entry["at"]
    entry |= read_values(STOP, end) | read_spent(end) if is_reply else {}
    entry |= {"seconds": read_spent(end)["seconds"]} if kind == "result" else {}
    if kind == "attachment":
        entry["name"] = unescaped(body[0].removeprefix("**Attached:** "), "\n\t")
    for name, lines, who in re.findall(r"(\w+) (\d) ?(\w*)", KINDS[kind][1]):
        text, label = (
            body[int(lines) :],
            f"**{agent if who == 'AGENT' else who.replace('_', ' ')}:**",
        )
        if not who:
            text = [] if text[0].startswith("![") else text[2:-2]
        elif text[0] == label:
            text = text[2:]
        else:
            text[0] = text[0].removeprefix(f"{label} ")
        entry[name] = unescaped("\n".join(text))
    return entry


def title_of(line: str) -> str:
    if line.rstrip() == "*Recorded with /decide:*":
        return "recorded"
    marked = line[:1] in ("#", "*", "_") or line.rstrip()[-1:] == ":"
    title = line.rstrip().strip("#*_: ").lower() if marked and line[:1] != " " else ""
    titles = {name.strip("*:").lower() for name in NAMES}
    short = ("background context", "background", "topics", "decisions")
    return title if title in titles or title in short else ""


Item = tuple[str, str, str, list[str]]
GROUP = re.compile(r"\*(User|Model), session ([0-9]{1,6}):\*|\*Others:\*")


def read_summary(lines: list[str]) -> Record:
    background, items, current, place = [""], list[Item](), "", ""
    begun: list[str] = []  # the current item or the background; empty below a heading
    for line in lines:
        if line.startswith("**Background Context:**"):
            begun = background = [line[24:]]
        elif (title := title_of(line)).startswith("background"):
            begun, current = background, ""
        elif title:
            begun, place = [], ""
            current = next((n for h, n in NAMES.items() if title in h.lower()), title)
        elif current and (group := GROUP.fullmatch(line.rstrip())):
            speaker = {"User": "user", "Model": "reply"}.get(group[1])
            begun, place = [], f" [{group[2]} {speaker}]" if speaker else ""
        elif current and (found := re.match(r"(?:[-+*•]|[0-9]{1,3}[.)]) ", line)):
            begun = [line[found.end() :]]
            items.append((current, line[0], place, begun))
        elif begun and line.startswith("  "):
            begun.append(line[2:])
        elif line.strip() not in ("", "**Current Session Summary:**", "*none*"):
            (begun or background).append(line)
    return with_places(items) | {"background": unescaped("\n".join(background))}


def with_places(items: list[Item]) -> Record:
    summary: Record = {name: [] for name in (*NAMES.values(), "recorded")}
    place, after = "", ("", "")
    for name, bullet, above, item in reversed(items):
        text = unescaped("\n".join(item))
        if not (joined := after == (name, "+")):
            place = "".join(re.findall(r" \[[0-9]{1,6} (?:user|reply)\]\Z", text))
        summary[name].insert(0, text + (place if joined else above))
        after = name, "" if above else bullet
    summary["pinned"] = summary.pop("recorded") + summary["pinned"]
    return summary


def unescaped(text: str, single_line: str = "") -> str:
    def character(found: re.Match[str]) -> str:
        number = int(found[1], 16)
        hidden = number < 0x110000 and re.fullmatch(f"[{HIDDEN}{single_line}]", chr(number))
        return chr(number) if hidden and f"{number:04X}" == found[1] else found[0]

    text = text if single_line else re.sub(r"(?m)^([ \t]*)\\(?=\\*<!--)", r"\1", text)
    return re.sub(r"⟦U\+([0-9A-F]{4,6})⟧", character, text)

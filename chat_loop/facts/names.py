"""Days and proper names (pure): capitalised words that do not open a sentence, and weekdays in
small letters.
"""

from __future__ import annotations

import re

from chat_loop.facts.canon import Value
from chat_loop.facts.lexicon import lexicon
from chat_loop.facts.units import MONTHS_ALONE, WEEKDAYS
from chat_loop.facts.words import stopwords

_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’-]{0,40}")
_PARTICLE = re.compile(
    r"[ ](?:van der|van den|van de|van|von der|von|de la|de "
    r"los|del|de|da|dos|di|du|le|la|zu|ten|ter)?[ ]?"
)
DAYS = frozenset(day for day in (*WEEKDAYS, *MONTHS_ALONE) if len(day) > 4)
"""Days and months, in small letters."""
_DAY = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(DAYS))})(?!\w)", re.IGNORECASE)
_TITLES = lexicon(
    """
    mr mrs ms miss dr prof sir madam aunt uncle herr frau familie onkel tante oma opa doktor professor m mme monsieur
    madame mlle señor señora sr sra don doña signor signora sig dott dottore dottoressa senhor senhora dona meneer
    mevrouw mw dhr
    """
)
_GREETINGS = lexicon(
    """
    hey hi hello dear wow bye goodbye thanks thank welcome congrats congratulations happy morning evening good nice
    yeah yep nah nope haha oops hallo guten danke liebe lieber tschüss servus bonjour salut merci cher chère hola
    querido querida gracias adiós ciao caro cara grazie buongiorno olá oi obrigado obrigada hoi dag bedankt beste
    """
)
_MEASURES = lexicon(
    """
    ende anfang mitte stück glas tasse tassen kilo gramm liter meter prozent euro uhr prise esslöffel teelöffel dose
    packung flasche paar tag tage woche jahr monat art teil punkt schritt version thema betreff
    """
)
"""German nouns that stand before another noun without naming anybody."""
_GERMAN_VERB = re.compile(r" (?:[a-zäöüß]{2,14}t|wird|war|kann|muss|soll|mag)(?!\w)")
"""What follows a name that opens a German sentence; other openings may be any word before a
noun.
"""
_ENDS = '.!?:\n;•*#>|([{"“„«-–—。！？'


def between(text: str, start: int, end: int, german: bool, days: bool) -> list[Value]:
    """The days and names between two positions, in order. In German text a lone capitalised word is
    no name.

    `days`: whether some of DAYS is among the words, so that it pays to look for it.
    """
    found: list[Value] = []
    run: list[tuple[int, int]] = []
    for match in _CAPITAL.finditer(text, start, end):
        begin, stop = match.span()
        if begin and (text[begin - 1].isalnum() or text[begin - 1] in "_@/."):
            continue
        word = match.group()
        if word[-2:] in ("'s", "’s"):
            word, stop = word[:-2], stop - 2
        low = word.lower()
        if run and not _joined(text, run[-1][1], begin, german and len(run) < 2):
            found += _named(text, run, german)
            run = []
        if low in DAYS or (low in MONTHS_ALONE and len(word) > 3):
            found += _named(text, run, german)
            run = []
            if not days:
                found.append(Value(text[begin:stop], "day", begin, stop))
        elif _common(word, low) and not (word.isupper() and run):
            found += _named(text, run, german)
            run = []
        else:
            run.append((begin, stop))
    found += _named(text, run, german)
    if days:
        found += [
            Value(match.group(), "day", *match.span()) for match in _DAY.finditer(text, start, end)
        ]
        found.sort(key=lambda value: value.start)
    return found


def _common(word: str, low: str) -> bool:
    """Whether a capitalised word names nobody: a function word, a greeting, an acronym, a
    contraction.
    """
    if low in stopwords() or low in _GREETINGS:
        return True
    return _is_acronym(word) or "'" in word[2:] or "’" in word[2:]


def _is_acronym(word: str) -> bool:
    return word.isupper() and len(word) < 6


def _joined(text: str, end: int, begin: int, plain: bool) -> bool:
    gap = text[end:begin]
    if plain and gap not in (" ", ". "):
        return False
    if gap == ". ":
        word = text[max(0, end - 12) : end].split()
        return bool(word) and (word[-1].lower() in _TITLES or len(word[-1]) == 1)
    return len(gap) < 9 and _PARTICLE.fullmatch(gap) is not None


def _initial(text: str, begin: int) -> bool:
    before = text[max(0, begin - 3) : begin].rstrip(" ")
    return not before or before[-1] in _ENDS


def _named(text: str, run: list[tuple[int, int]], german: bool) -> list[Value]:
    """The run of capitalised words as a name, or nothing."""
    if not run:
        return []
    (begin, stop), end = run[0], run[-1][1]
    first = text[begin:stop].lower()
    titled = first in _TITLES
    if len(run) == 1:
        if german or titled or stop - begin < 2 or _initial(text, begin):
            return []
    elif len(run) == 2 and _initial(text, begin) and _is_acronym(text[slice(*run[1])]):
        return []  # "Answer OK."
    elif (
        german
        and not titled
        and (first in _MEASURES or (_initial(text, begin) and not _GERMAN_VERB.match(text, end)))
    ):
        return []
    return [Value(text[begin:end], "name", begin, end)]

"""Fillers (pure): the words that open a sentence without saying anything, in seven languages."""

from __future__ import annotations

import re
from functools import cache

_BEFORE_A_PAUSE = """
yes|no|yeah|yep|nope|oh|ah|hey|ok|okay|well|so|also|anyway|btw|right|sure|great|perfect|thanks|thank you|and|but
oh and|and also|by the way|incidentally|just so you know|one more thing|another thing|before i forget
while i think of it|while we're at it|quick note|side note|on another note|on a side note|as i said|as mentioned
as an aside|speaking of which|fyi|while i'm at it
ja|nein|ach|ach so|ach ja|ach übrigens|übrigens|na ja|gut|danke|also|und|nebenbei|nebenbei bemerkt|noch etwas|noch was
was ich noch sagen wollte|bevor ich es vergesse|ehe ich es vergesse|apropos|so nebenbei
oui|non|bon|alors|merci|et|au fait|ah oui|d'ailleurs|tant que j'y pense|autre chose|avant que j'oublie
sí|bueno|gracias|vale|pues|y|por cierto|otra cosa|antes de que se me olvide|a propósito
sì|allora|grazie|comunque|tra l'altro|a proposito|già che ci sono|prima che mi dimentichi
sim|não|bom|olha|aliás|obrigado|obrigada|já agora|antes que me esqueça
nee|nou|en|o ja|trouwens|overigens|bedankt|dank je|nog iets|voor ik het vergeet
"""
_BEFORE_A_WORD = "oh and|and also|but also|and|und|ach und|et"
_MOST = 3
"""Fillers in a row: "Oh, and by the way, "."""


@cache
def _pattern() -> re.Pattern[str]:
    paused = "|".join(_BEFORE_A_PAUSE.strip().split("\n"))
    return re.compile(
        rf"(?:(?:{paused})(?:[,:;!…]| –| —|\.\.\.)\s+|(?:{_BEFORE_A_WORD}) (?=[^\W\d_]{{2,}}))",
        re.IGNORECASE,
    )


def without_filler(sentence: str) -> str:
    """The sentence from its first word that says something. This is the only change to a sentence
    that is kept.
    """
    for _ in range(_MOST):
        match = _pattern().match(sentence)
        if match is None or match.end() >= len(sentence):
            break
        sentence = sentence[match.end() :]
    return sentence

"""Messages made from sentences: small talk around them, and lines and lists as people and models
write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from benchmarks.factchain.planting import Deck, Saying
from benchmarks.factchain.talk import Turn
from benchmarks.factchain.wording import Filling, Language

QUERY_WORDS, LONGEST_QUERY = (30, 84), 112
REPLY_WORDS, LONGEST_REPLY = (56, 140), 184
LED, ASKS, OWN_LINE, BOLD, LISTED = 0.4, 0.65, 0.5, 0.4, 0.35
"""Shares of sentences with a lead-in where one fits, of messages with a question, of announcements
on their own line, of labels that the model writes in bold, and of replies with a list.
"""

_SMALL = """
a an the my our we they for on at with all there this that these you your most some such after since if no nobody
somebody please once from to it ask in between by what when whatever
der die das ein unser wir sie für bei mit auf nach den dem seit wenn falls sobald unter zur
le la les il pour avec après depuis dans au en notre nos une un
el los las una para con después nuestro mi si al
per dopo su in i da alla
"""
"""Words that lose their capital when another word comes before them."""
_SMALL_WORDS = frozenset(_SMALL.split())


class Composer:
    """Writes the messages of one conversation."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._deck = Deck(random)

    def turns(self, words: Language, count: int, sayings: Sequence[Saying]) -> list[Turn]:
        """Return `count` exchanges in one language that contain all sayings."""
        queries: list[list[Saying]] = [[] for _ in range(count)]
        replies: list[list[Saying]] = [[] for _ in range(count)]
        for side, speaker in ((queries, "user"), (replies, "model")):
            mine = [saying for saying in sayings if saying.speaker == speaker]
            self._random.shuffle(mine)
            for number, saying in enumerate(mine):
                side[number % count].append(saying)
            self._random.shuffle(side)
        return [
            Turn(self._query(words, query), self._reply(words, reply))
            for query, reply in zip(queries, replies, strict=True)
        ]

    def _query(self, words: Language, sayings: Sequence[Saying]) -> str:
        said = [self._said(words, saying) for saying in sayings]
        filler = self._filler("talk", words, words.talk, said, QUERY_WORDS, LONGEST_QUERY)
        if self._random.random() < ASKS:
            question = self._fill(words, self._deck.deal(f"{words.code} ask", words.ask))
            return (
                f"{self._mixed(said, filler)}{self._random.choice((' ', ' ', chr(10)))}{question}"
            )
        return self._mixed(said, filler)

    def _reply(self, words: Language, sayings: Sequence[Saying]) -> str:
        said = [self._said(words, saying) for saying in sayings]
        filler = self._filler("reply", words, words.reply, said, REPLY_WORDS, LONGEST_REPLY)
        if len(filler) < 5 or self._random.random() > LISTED:
            return self._mixed(said, filler)
        cut = self._random.randint(2, len(filler) - 2)
        points = [*said, *filler[cut:]]
        self._random.shuffle(points)
        listed = "\n".join(f"- {point.strip()}" for point in points)
        return f"{' '.join(filler[:cut])}\n\n{listed}"

    def _filler(
        self,
        name: str,
        words: Language,
        texts: Sequence[str],
        said: Sequence[str],
        wanted: tuple[int, int],
        most: int,
    ) -> list[str]:
        """Return small talk that makes the message as long as it should be."""
        length = sum(len(text.split()) for text in said)
        target = min(most, max(self._random.randint(*wanted), length + 14))
        filler: list[str] = []
        while length < target:
            text = self._fill(words, self._deck.deal(f"{words.code} {name}", texts))
            if name == "reply" and self._random.random() < LED:
                text = self._after(self._random.choice(words.openers), text)
            filler.append(text)
            length += len(filler[-1].split())
        return filler

    def _said(self, words: Language, saying: Saying) -> str:
        """Return a sentence with its announcement or, now and then, a lead-in."""
        text = saying.text
        if saying.label:
            label = f"{saying.label}:"
            if saying.speaker == "model" and self._random.random() < BOLD:
                label = f"**{label}**"
            own_line = self._random.random() < OWN_LINE
            return f"\n{label} {text}\n" if own_line else f"{label} {text}"
        if saying.speaker == "model" or self._random.random() > LED:
            return text
        return self._after(self._random.choice(words.leads), text)

    def _after(self, lead: str, text: str) -> str:
        """Return the text after a lead-in, or alone if its first word must keep its capital."""
        first = text.split(maxsplit=1)[0]
        if first == "I" or first.lower() not in _SMALL_WORDS:
            return text
        return f"{lead} {text[0].lower()}{text[1:]}"

    def _mixed(self, said: Sequence[str], filler: Sequence[str]) -> str:
        """Return the sentences at random positions in the small talk, in up to three paragraphs."""
        sentences = list(filler)
        for text in said:
            sentences.insert(self._random.randint(0, len(sentences)), text)
        joints = [" "] * (len(sentences) - 1) + [""]
        for _ in range(self._random.choice((0, 0, 1, 2))):
            if len(sentences) > 2:
                joints[self._random.randrange(len(sentences) - 1)] = self._random.choice(
                    ("\n", "\n\n")
                )
        text = "".join(sentence + joint for sentence, joint in zip(sentences, joints, strict=True))
        return "\n".join(line.strip() for line in text.strip().split("\n")).replace(
            "\n\n\n", "\n\n"
        )

    def _fill(self, words: Language, text: str) -> str:
        filled = Filling(self._random, words.slots).fill(text)
        return filled[0].upper() + filled[1:]

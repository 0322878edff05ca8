"""The user's messages: facts in passing, small talk, and questions for a small model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.factchain.composing import Composer
from benchmarks.factchain.planting import Deck, Planter
from benchmarks.factchain.talk import Fact
from benchmarks.factchain.wording import language

SEEDS = 19, 20, 21
"""The conversations. Only the first was known when the program was changed."""
PROFILE, CODE = "unseen", "en"
KINDS = ("number", "path", "id", "url", "person")
"""The kinds with one exact value, apart from `update`, whose values are replaced later."""
PLAN = ((10, 7, 3, 0), (10, 8, 3, 0), (10, 5, 3, 3), (10, 5, 3, 3), (10, 7, 0, 3), (10, 6, 0, 3))
"""Per segment: exchanges, facts, facts that will get a newer value, and the newer values."""
ASK = """
How do I find the largest files in a folder on Linux?
What does exit code 137 of a container mean?
Give me a regular expression for dates such as 2026-01-31.
Which HTTP status should an API return for a duplicate entry?
How do I undo the last commit but keep my changes?
What is the difference between a process and a thread?
How do I reverse a list in Python?
When is a linked list better than an array?
How do I see which process uses port 8080?
What does a 502 from a proxy usually mean?
How long should I boil an egg for a soft yolk?
Suggest a name for a function that removes duplicates.
How do I sort a dictionary by its values in Python?
What should a good bug report contain?
How do I make a shell script stop at the first error?
What is a sensible first step to speed up a slow query?
How do I remove a red wine stain from linen?
What does idempotent mean?
How do I rename a branch in git?
Which data structure suits a queue of jobs with priorities?
How do I follow a log file in the terminal?
What is the purpose of a foreign key?
How do I copy a folder to another machine over ssh?
Suggest a short subject for a mail about a delayed delivery.
How do I count the lines of all Python files?
What is the difference between PUT and PATCH?
How often should I water a basil plant?
How do I create a virtual environment in Python?
Why should passwords be hashed with a salt?
How do I show only the names of changed files in git?
What is a race condition?
How can I test a function that reads the clock?
How do I convert a string to an integer in JavaScript?
What does the S in SOLID stand for?
How do I keep avocados from turning brown?
When should a cache entry expire?
How do I find out my IP address on Linux?
What is the complexity of binary search?
How do I write a comment in SQL?
Suggest a polite way to decline an invitation.
How do I make a file executable?
What is the difference between TCP and UDP?
How do I merge two sorted lists?
What does the volatile keyword do in Java?
How do I limit the memory of a Docker container?
What is a good way to name feature branches?
How do I get the last element of a list in Python?
Why do floating point sums differ from the exact result?
How do I remove all stopped containers?
What is a memory leak?
How do I sharpen a kitchen knife?
Which sign starts a comment in YAML?
How do I round a number to two decimals in Python?
What does a load balancer do?
How do I list all tables in SQLite?
What is the advantage of an index in a database?
How do I search for a word in all files of a folder?
What should I check before I deploy on a Friday?
How do I compress a folder with tar?
What is dependency injection?
""".strip().split("\n")
"""One for each exchange; FactChain's own always get the same reply from a small model."""
_MARK = "#"


@dataclass(frozen=True, slots=True)
class Script:
    """The user's messages and the facts in them; `facts` also contains replaced ones."""

    queries: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def live(self) -> tuple[Fact, ...]:
        """The facts that the benchmark asks about."""
        return tuple(fact for fact in self.facts if fact.superseded_by is None)

    def replaced(self, fact: Fact) -> tuple[str, ...]:
        """Return the values that a fact replaced."""
        return tuple(old.values[0] for old in self.facts if old.superseded_by == fact.number)


def write_script(seed: int, plan: Sequence[tuple[int, int, int, int]] = PLAN) -> Script:
    """Write the user's messages, which depend only on the seed and the plan."""
    random = Random(f"embedded {seed}")
    planter, composer, deck = Planter(PROFILE, random, shift=0), Composer(random), Deck(random)
    words = dataclasses.replace(language(PROFILE, CODE), ask=(_MARK,))
    asks = iter(random.sample(ASK, len(ASK)))
    queries: list[str] = []
    for segment, (exchanges, facts, begun, successors) in enumerate(plan, 1):
        kinds = [*(deck.deal("kinds", KINDS) for _ in range(facts)), *["update"] * begun]
        sayings = [planter.replace_oldest(segment) for _ in range(successors)]
        sayings += [planter.plant(kind, CODE, segment, "user") for kind in kinds]
        for turn in composer.turns(words, exchanges, sayings):
            queries.append(f"{turn.query.removesuffix(_MARK).rstrip()}\n{next(asks)}")
    return Script(tuple(queries), tuple(planter.facts))

"""Which words of an index are related to a word that is searched for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from chat_loop.search.terms import Term, forms, phrase, pieces, related, root

LONGEST = 40
MOST = 12


def related_forms(
    term: Term,
    containing: Callable[[str], Iterable[str]],
    known: Callable[[Iterable[str]], Collection[str]],
    participles: Mapping[str, Sequence[str]],
    found: bool,
) -> list[tuple[str, float]]:
    """Words to search for beside `term`, with how surely they mean the same: longer ids that
    contain one that was not `found` itself, other forms and compounds of a plain word.

    `containing(part)` gives words of the index with `part` in them, `known(words)` those of `words`
    that it holds; `participles` are the German participles of a verb.
    """
    if term.exact:
        longer = containing(term.text) if len(term.text) > 2 and not found else ()
        return [(word, 0.6) for word in longer if phrase(word)][:MOST]
    if not term.plain or not 4 <= len(term.text) <= LONGEST:
        return []
    word = term.text
    others: dict[str, float] = {}
    for form in forms(word):
        for other in {*containing(root(form)), *known({form, *pieces(form)})}:
            surely = related(form, other) * (1.0 if form == word else 0.9)
            for said in (other, *participles.get(other, ())):
                if said != word and said.isalnum() and surely > others.get(said, 0.0):
                    others[said] = surely
    return sorted(others.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST]

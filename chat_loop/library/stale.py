"""What the index does not know (pure), from a comparison with the files that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from chat_loop.library.index import Known
from chat_loop.sessions.partial import Stamp


class Stale(Struct, frozen=True):
    """What the index does not know as it is: files that are new or changed, newest first, and ids
    that are gone.
    """

    files: tuple[Stamp, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.files or self.gone)


def stale(known: Mapping[str, Known], there: Sequence[Stamp]) -> Stale:
    """Compare what the index knows with the files that are there."""
    get = known.get
    files = tuple(
        stamp
        for stamp in there
        if (one := get(stamp[1])) is None
        or one[0] != stamp[0]
        or one[1] != stamp[2]  # fast: this is asked of all
    )
    gone = (
        known.keys() - {stamp.id for stamp in there} if len(known) + len(files) > len(there) else ()
    )
    return Stale(files, tuple(sorted(gone)))

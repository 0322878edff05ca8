"""Frozen dataclasses whose methods are compiled when they are first needed.

`dataclasses.dataclass` writes and compiles up to six methods per class while its module is imported: a quarter of a
millisecond each, and most of the hundred classes that the prompt imports have no instance before somebody types.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses

    _waiting = {}
    _making = threading.RLock()

    def dataclass(*, frozen, kw_only=False):
        """Like `dataclasses.dataclass` with the same options; `frozen` has to be true.

        The class is complete from its first instance, or from the first question about its fields, on. One that
        inherits from another is complete at once.
        """
        if not frozen:
            raise TypeError("what can be changed is a dataclasses.dataclass")

        def decorate(cls):
            if any(issubclass(base, _Late) for base in cls.__bases__):
                return dataclasses.dataclass(frozen=True, kw_only=kw_only)(cls)
            body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
            late = type(cls)(cls.__name__, (_Late, *(base for base in cls.__bases__ if base is not object)), body)
            _waiting[late] = kw_only
            return late

        return decorate

    def _complete(kind):
        """Make the methods of the class, or the base of it, that still waits for them."""
        with _making:
            for cls in kind.__mro__:
                if cls in _waiting:
                    dataclasses.dataclass(frozen=True, kw_only=_waiting[cls])(cls)
                    del _waiting[cls]

    class _Fields:
        def __get__(self, instance, owner):
            if owner is _Late:
                raise AttributeError("__dataclass_fields__")
            _complete(owner)
            return owner.__dataclass_fields__

    class _Late:
        """The base with the methods that a class does not have yet.

        They are never taken away while the others are made, and wait for the lock: a second thread that comes upon a
        class that is half made finds either these or those.
        """

        __dataclass_fields__ = _Fields()

        def __init__(self, *args, **kwargs):
            _complete(type(self))
            self.__init__(*args, **kwargs)

        def __eq__(self, other):
            _complete(type(self))
            return self.__eq__(other)

        def __hash__(self):
            _complete(type(self))
            return self.__hash__()

        def __repr__(self):
            _complete(type(self))
            return self.__repr__()

"""Frozen dataclasses whose methods are compiled when they are first needed.

`dataclasses.dataclass` writes and compiles up to six methods per class while its module is
imported: a quarter of a millisecond each, and of the hundred classes that the prompt imports most
have no instance before somebody types, and nearly all others one. The first instances of a class
are therefore made without it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses

    _FEW = 3
    """Instances of a class that are made before it is worth to be compiled."""

    _waiting = {}
    _counts = {}
    _making = threading.RLock()

    def dataclass(*, frozen, kw_only=False):
        """Like `dataclasses.dataclass` with the same options; `frozen` has to be true.

        The class is complete from its first few instances, their first comparison, or the first
        question about its fields, on. One that inherits from another is complete at once.
        """
        if not frozen:
            raise TypeError("what can be changed is a dataclasses.dataclass")

        def decorate(cls):
            if any(issubclass(base, _Late) for base in cls.__bases__):
                return dataclasses.dataclass(frozen=True, kw_only=kw_only)(cls)
            body = {
                name: value
                for name, value in vars(cls).items()
                if name not in ("__dict__", "__weakref__")
            }
            late = type(cls)(
                cls.__name__, (_Late, *(base for base in cls.__bases__ if base is not object)), body
            )
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

    def _values(kind, args, kwargs):
        """The fields of an instance, by name; None for a call that the class itself has to answer
        for.
        """
        kw_only = _waiting.get(kind)
        names = kind.__annotations__
        if (
            kw_only is None
            or len(args) > (0 if kw_only else len(names))
            or "__post_init__" in vars(kind)
        ):
            return None
        given = dict(zip(names, args, strict=False))
        if not (given.keys().isdisjoint(kwargs) and kwargs.keys() <= names.keys()):
            return None
        given |= kwargs
        values = {}
        for name, annotation in names.items():
            value = vars(kind).get(name, dataclasses.MISSING)
            field = value if isinstance(value, dataclasses.Field) else None
            if "Var" in str(annotation) or (field is not None and not field.init):
                return None
            if name in given:
                value = given[name]
            elif field is not None:
                value = (
                    field.default
                    if field.default_factory is dataclasses.MISSING
                    else field.default_factory()
                )
            if value is dataclasses.MISSING:
                return None
            values[name] = value
        return values

    class _Asked:
        """A question that only the complete class can answer."""

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner):
            if owner is _Late:
                raise AttributeError(self._name)
            _complete(owner)
            return getattr(owner, self._name)

    class _Late:
        """The base with the methods that a class does not have yet.

        They are never taken away while the others are made, and wait for the lock: a second thread
        that comes upon a class that is half made finds either these or those.
        """

        __dataclass_fields__ = _Asked()
        __dataclass_params__ = _Asked()
        __match_args__ = _Asked()

        def __init__(self, *args, **kwargs):
            kind = type(self)
            count = _counts[kind] = _counts.get(kind, 0) + 1
            values = _values(kind, args, kwargs) if count <= _FEW else None
            if values is None:
                _complete(kind)
                self.__init__(*args, **kwargs)
            else:
                self.__dict__.update(values)

        def __setattr__(self, name, value):
            if type(self) in _waiting:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            object.__setattr__(self, name, value)

        def __delattr__(self, name):
            if type(self) in _waiting:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            object.__delattr__(self, name)

        def __eq__(self, other):
            _complete(type(self))
            return self.__eq__(other)

        def __hash__(self):
            _complete(type(self))
            return self.__hash__()

        def __repr__(self):
            _complete(type(self))
            return self.__repr__()

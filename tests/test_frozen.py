"""Frozen dataclasses that are made when they are needed behave like those of the standard
library.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pkgutil
import subprocess
import sys
import threading
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

import pytest

import chat_loop
from chat_loop.frozen import dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class Point:
    """Where something is."""

    x: int
    y: int = 0
    names: tuple[str, ...] = dataclasses.field(default=(), repr=False)

    @cached_property
    def sum(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, kw_only=True)
class Deep(Point):
    z: int = 3


@dataclass(frozen=True, kw_only=True)
class Box(Generic[T]):
    inside: T


class Plain(Box[int]):
    """One that inherits without being a dataclass itself."""


def fresh() -> type[Any]:
    """A class that nothing has been asked of yet."""

    @dataclass(frozen=True)
    class Fresh:
        number: int
        text: str = "a"

    return Fresh


def test_the_first_instance_is_like_every_other() -> None:
    kind = fresh()
    first, second = kind(1), kind(1)
    assert first == second
    assert hash(first) == hash(second)
    assert first != kind(2)
    assert repr(first).endswith("Fresh(number=1, text='a')")
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.number = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del first.number
    assert dataclasses.replace(first, text="b") == kind(1, "b")
    match first:
        case kind(number, text):
            assert (number, text) == (1, "a")


def test_the_first_instances_are_made_without_the_class_being_complete() -> None:
    @dataclass(frozen=True)
    class Late:
        number: int
        names: list[str] = dataclasses.field(default_factory=list)
        text: str = dataclasses.field(default="a", compare=False)

    made = [Late(1), Late(number=1), Late(text="b", number=1, names=[])][:3]
    assert "__init__" not in vars(Late)
    assert [list(vars(one)) for one in made] == [["number", "names", "text"]] * 3
    assert made[0].names is not made[1].names
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
        made[0].number = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'number'"):
        del made[0].number
    assert "__init__" not in vars(Late)
    later = Late(1)
    assert "__init__" in vars(Late)
    assert made == [later] * 3
    assert vars(made[0]) == vars(later)


def test_what_is_matched_need_not_be_complete() -> None:
    match fresh()(1):
        case object(number=number):
            assert number == 1
    match first := fresh()(1, "c"):
        case first.__class__(number, text):
            assert (number, text) == (1, "c")


def test_a_plain_heir_can_be_changed_where_it_is_no_dataclass() -> None:
    plain = Plain(inside=1)
    plain.other = 2  # type: ignore[attr-defined]
    del plain.other  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.inside = 3  # type: ignore[misc]


def test_a_wrong_first_call_is_told_like_any_other() -> None:
    for given, named in (((), {}), ((1, "b", 3), {}), ((), {"nothing": 1}), ((1,), {"number": 1})):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            fresh()(*given, **named)


def test_fields_are_known_before_there_is_an_instance() -> None:
    assert [field.name for field in dataclasses.fields(fresh())] == ["number", "text"]
    assert dataclasses.is_dataclass(fresh())
    kind = fresh()
    dataclasses.fields(kind)
    assert list(inspect.signature(kind).parameters) == ["number", "text"]


def test_heirs_generics_and_plain_heirs() -> None:
    assert repr(Deep(1, z=2)) == "Deep(x=1, y=0, z=2)"
    assert Deep(1) != Point(1)
    assert Plain(inside=3).inside == 3
    assert repr(Box(inside="a")) == "Box(inside='a')"
    with pytest.raises(TypeError):
        Box("a")  # type: ignore[call-arg]


def test_copies_pickles_and_cached_properties() -> None:
    point = Point(1, 2, ("a",))
    assert point.sum == 3
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))
    assert Point.__doc__ == "Where something is."
    assert Point.__module__ == __name__


def test_what_can_be_changed_is_not_for_this_module() -> None:
    with pytest.raises(TypeError, match="can be changed"):
        dataclass(frozen=False)


def test_many_threads_that_come_first_together() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    wrong: list[object] = []
    try:
        for _ in range(100):
            kind, gate = fresh(), threading.Barrier(6)

            def use(kind: type[Any] = kind, gate: threading.Barrier = gate) -> None:
                gate.wait()
                try:
                    if not (
                        kind(1) == kind(1)
                        and len({kind(1), kind(1)}) == 1
                        and "number=1" in repr(kind(1))
                    ):
                        wrong.append("not equal")
                except Exception as error:  # noqa: BLE001 - whatever it is, the test must say it
                    wrong.append(error)

            threads = [threading.Thread(target=use) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_every_class_of_the_package_can_be_completed() -> None:
    """What is wrong with one would else be found by whoever needs it first."""
    count = 0
    for module in pkgutil.walk_packages(chat_loop.__path__, "chat_loop."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(import_module(module.name)).values():
            if (
                isinstance(value, type)
                and value.__module__ == module.name
                and dataclasses.is_dataclass(value)
            ):
                assert inspect.signature(value).parameters.keys() >= {
                    field.name for field in dataclasses.fields(value) if field.init
                }
                count += 1
    assert count > 100


def test_importing_the_prompt_completes_few() -> None:
    """The reason why the module exists."""
    code = (
        "import chat_loop.interactive, chat_loop.prompt, chat_loop.frozen as frozen, "
        "dataclasses as d;"
        "print(len(frozen._waiting))"
    )
    waiting = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout
    assert int(waiting) > 60

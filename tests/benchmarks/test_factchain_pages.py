"""FactChain's tables on the pages, of a run that is made up: each number stands in its cell."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.factchain import pages, plot
from benchmarks.factchain.automatic import CASES, Case, Found, Run
from benchmarks.factchain.baselines import EVERYTHING
from benchmarks.factchain.meter import LEAST, Money
from benchmarks.factchain.run import OURS
from benchmarks.factchain.wording import PROFILES

METHODS = (*pages.METHODS, *pages.PRICED)
SIXTEEN = Case(16_384)


def one_of(case: Case, profile: str, method: str, given: str) -> Found:
    share = 10.0 * (1 + METHODS.index(method)) + (given == "size") + list(PROFILES).index(profile)
    cost = dict.fromkeys(LEAST, 1.0 + METHODS.index(method))
    return Found(
        case=case,
        profile=profile,
        seed=1,
        method=method,
        given=given,
        facts=200,
        context=share,
        reached=share + 20 if method == OURS else None,
        resumed=share - 1 if method == OURS else None,
        stale=0.25,
        tokens=10_400,
        compactions=4,
        course=[100.0, share],
        speakers=dict.fromkeys(pages.SPEAKERS, (4, 1, 3)),
        money=Money(
            requests=800,
            input=1_000_000,
            same=900_000,
            output=5_000,
            largest=20_000,
            plain=cost,
            cached={model: one / 2 for model, one in cost.items()},
        ),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = [
        one_of(case, profile, method, given)
        for case in CASES
        for profile in PROFILES
        for method in METHODS
        for given in ("window", "size")
    ]
    run = msgspec.json.encode(Run({}, found))
    (tmp_path / "factchain-automatic.json").write_bytes(run)
    return tmp_path


def row(table: str, label: str) -> list[str]:
    [line] = [line for line in table.split("\n") if line.startswith(f"| {label} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_window_has_the_scores_of_three_wordings(folder: Path) -> None:
    cells = row(pages.automatic(folder), "16,384")
    assert cells == [
        *("10 / 11 / 12", "30 / 31 / 32", "–", "9 / 10 / 11", "0.3 / 0.3 / 0.3", "–"),
        *("10.4K", "4", "3"),
    ]


def test_a_method_stands_in_the_same_window_and_in_the_same_size(folder: Path) -> None:
    table = pages.others(folder)
    assert row(table, "chat-loop") == ["11"] * 4
    assert row(table, "the newest messages") == ["21 / 22"] * 4
    assert "The whole long conversation, of 10K tokens, would hold 71 %" in table


def test_money_and_tools_and_losses_have_a_row_for_each(folder: Path) -> None:
    money = pages.money(folder)
    prices = ["1.00 / 0.50"] * len(LEAST)
    assert row(money, "chat-loop") == ["800", "1.0M", "90 %", "5K", *prices]
    assert row(money, pages.PRICED[EVERYTHING])[-1] == "7.00 / 3.50"
    shares = ["25 / 25 / 25", "75 / 75 / 75"]
    assert row(pages.tools(folder), "only in a result") == shares * 2
    losses = pages.losses(folder)
    assert row(losses, pages.LABELS["old lines kept"])[:2] == ["11", "21"]
    assert pages.LABELS["published"] == "60 % of new facts lost, 23 % of old lines"


def test_a_headline_says_also_what_is_lost(folder: Path) -> None:
    kept, _, price = pages.headlines(folder)
    assert kept[1:4] == ("11 %", "52 % (user's words)", False)
    assert price[1:4] == ("$0.50", "$1.00 (newest messages)", True)


def test_the_curve_ends_at_what_is_left(folder: Path) -> None:
    run = msgspec.json.decode((folder / "factchain-automatic.json").read_bytes(), type=Run)
    picture = plot.picture(run.found)
    assert ">12% chat-loop, third wording<" in picture
    assert ">21% newest messages<" in picture
    assert ">10K<" in picture

"""Supersession: a newer value replaces the older one, and nothing that is only similar is
touched.
"""

from __future__ import annotations

import pytest

from chat_loop.context.cover import Kept, ledger
from chat_loop.context.ledger import items
from chat_loop.sessions.records import Summary
from tests.test_extract import exchanges

ROOM = 10_000

REPLACED = """\
Our kitchen budget is 8,000 euros.|The kitchen budget is no longer 8,000 but 9,500 euros.
The API limit is 90 requests per minute.|The API limit was bumped from 90 to 120 requests per minute.
The log retention is 35 days.|Correction: log retention is 60 days.
We're using PostgreSQL for the billing service.|We've switched the billing service from PostgreSQL to MariaDB.
Let's paint the hallway sage green.|Let's paint the hallway in light grey instead of sage green.
Das Budget für die Küche liegt bei 8.000 Euro.|Das Küchenbudget ist doch 9.500 Euro statt 8.000 Euro.
The loan rate is 3.4 %.|The bank confirmed the loan rate is 3.1 % now instead of 3.4 %.
The log retention is 35 days.|Update: log retention is 60 days.
The staging timeout is 30 seconds.|Correction: the staging timeout is 45 s.
Die Miete ist 1.150 Euro.|Korrektur: die Miete ist 1.210 Euro.
"""
"""What was said first, and in a later session a sentence that names what it replaces, or is labeled
as a correction.
"""

NEWER = """\
The staging timeout is 30 seconds.|The staging timeout is now 45 seconds.
We leave for the airport at 6:30.|Change of plan, we leave for the airport at 5:45 instead.
The dentist appointment for Leo is on Tuesday at 15:40.|Leo's dentist appointment has been moved to Thursday at 10:15.
The dentist appointment for Leo is on Tuesday at 15:40.|The dentist called, Leo's appointment is now Thursday at 10:15.
Our kitchen budget is 8,000 euros.|We raised the kitchen budget to 9,500 euros because the oven is dearer.
The rent is 1,150 euros a month.|From May on the rent is 1,210 euros a month.
The meeting is on Monday at 9:00.|Actually, the meeting is on Wednesday at 14:00.
Grandma's phone number is 030 5550101.|Grandma's phone number is 030 5550199 now.
The config lives in conf/app.yaml:12.|The config has moved to conf/main.yaml:40.
Die Kaution beträgt 2.150 €.|Die Kaution beträgt jetzt 2.300 €.
Der Zahnarzttermin von Leo ist am Dienstag um 15:40 Uhr.|Leos Zahnarzttermin wurde auf Donnerstag, 10:15 Uhr verschoben.
Der Zug fährt um 17:52 ab.|Der Zug fährt jetzt um 18:10 ab.
Die Miete ist 1.150 Euro.|Ab Mai ist die Miete 1.210 Euro.
Le budget de la cuisine est de 8 000 €.|Le budget de la cuisine passe à 9 500 €.
Le rendez-vous chez le dentiste est mardi à 15h40.|Le rendez-vous chez le dentiste est reporté à jeudi 10h15.
El presupuesto de la cocina es de 8.000 €.|El presupuesto de la cocina ahora es de 9.500 €.
La cita del dentista es el martes a las 15:40.|La cita del dentista se ha movido al jueves a las 10:15.
Il budget della cucina è di 8.000 €.|Il budget della cucina adesso è di 9.500 €.
Het keukenbudget is 8.000 euro.|Het keukenbudget is nu 9.500 euro.
O orçamento da cozinha é de 8.000 €.|O orçamento da cozinha agora é de 9.500 €.
The deposit is 1,200 euros.|The deposit is 1,350 euros.
I take 75 mg of aspirin every morning.|The doctor lowered my aspirin to 50 mg every morning.
The party starts at 18:00.|The party starts at 19:00 now.
There are 14 guests coming to the christening.|We're 17 guests at the christening now.
The release is planned for 12 March.|The release slipped, it's now planned for 19 March.
The server runs version 2.4.1.|We upgraded the server, it now runs version 2.5.0.
The train leaves from platform 9.|The train now leaves from platform 7.
My insulin dose is 12 units in the morning.|The morning insulin dose has been raised to 14 units.
Wir treffen uns am Samstag um 11 Uhr bei Kerstin.|Das Treffen bei Kerstin ist doch erst um 13 Uhr.
The PIN for the garage is 4471.|They changed the garage PIN to 9902.
Die Lieferung kommt zwischen 8 und 12 Uhr am 14. März.|Die Lieferung wurde auf den 16. März verschoben.
"""
"""What was said first, and later another value of the same, without naming the old one."""

KEPT = """\
The staging timeout is 30 seconds.|The production timeout is now 45 seconds.
Anna's appointment is on Tuesday at 15:40.|Ben's appointment has been moved to Thursday at 10:15.
Our kitchen budget is 8,000 euros.|We raised the bathroom budget to 9,500 euros.
The rent for the flat is 1,150 euros.|The rent for the garage is now 90 euros.
Der Zahnarzttermin von Leo ist am Dienstag um 15:40 Uhr.|Der Zahnarzttermin von Mia ist jetzt am Freitag um 9:15 Uhr.
The read timeout is 30 seconds.|The write timeout is now 45 seconds.
Das Küchenbudget liegt bei 8.000 Euro.|Das Badbudget liegt jetzt bei 9.500 Euro.
Tile A costs 12 €.|Tile B costs 14 €.
The flour is 500 g.|The sugar is 300 g.
Room 12 is booked from 3 May.|Room 14 is booked from 4 May.
Le budget de la cuisine est de 8 000 €.|Le budget de la salle de bain est maintenant de 9 500 €.
We use PostgreSQL for the billing service.|We now also use Redis for the session cache.
The upload limit is 20 MB.|The download limit is now 50 MB.
Nina can't have hazelnuts.|Nina now takes 75 mg of aspirin.
Dinner with the Millers is on Friday at 19:00.|Lunch with the Bakers is now on Friday at 12:30.
The train to Hamburg leaves at 17:52.|The train to Munich now leaves at 18:20.
The summer tyres cost 420 euros.|The winter tyres now cost 510 euros.
The budget of room 3 is 340 euros.|The budget of room 5 is now 410 euros.
The train to Hamburg is ICE 724 at 8:04.|The train to Berlin is now ICE 610 at 9:30.
The limit in conf/a.yaml is 30 MB.|The limit in conf/b.yaml is now 50 MB.
Oma kommt am Freitag um 17 Uhr.|Opa kommt jetzt am Samstag um 11 Uhr.
The blue paint costs 38 euros per litre.|The white paint now costs 29 euros per litre.
My insulin dose is 12 units in the morning.|My insulin dose in the evening is now 8 units.
Wir treffen uns am Samstag um 11 Uhr bei Kerstin.|Das Konzert ist jetzt am Samstag um 20 Uhr.
Flour is 1.20 euros a kilo.|Milk is 1.35 euros a litre now.
The PIN for the garage is 4471.|They changed the alarm PIN to 9902.
Our flight out is LH 438 on 3 June.|Our flight back is now LH 443 on 17 June.
The dev database listens on port 6543.|The test database now listens on port 6544.
Our flight is LH 438 on 3 June.|We rebooked, our flight is now LH 442 on 4 June.
"""
"""Two sentences about different things, the second of which sounds like a correction."""


def child(parent: Summary | None, *pairs: tuple[str, str], depth: int = 1) -> Kept:
    """The next block of a chain."""
    return ledger(parent, None, exchanges(*pairs, depth=depth), [], [], ROOM, len)


def lines(summary: Summary) -> list[str]:
    """The ledger's lines with the session that each comes from."""
    return [f"{item.text} [{item.ref} {item.speaker}]" for item in items(summary)]


def chain(*queries: str) -> list[str]:
    """The ledger's lines after one session for each query."""
    parent: Summary | None = None
    for depth, query in enumerate(queries, 1):
        parent = child(parent, (query, "Fine."), depth=depth).summary
    assert parent is not None
    return lines(parent)


@pytest.mark.parametrize(
    ("before", "after"), [line.split("|") for line in REPLACED.strip().split("\n")]
)
def test_a_correction_takes_the_place_of_what_it_corrects(before: str, after: str) -> None:
    parent = child(None, (before, "Fine.")).summary
    assert len(lines(parent)) == 1
    made = child(parent, ("Hello!", "Hello."), (after, "Noted."), depth=2)
    assert made.superseded == 1
    (only,) = lines(made.summary)
    assert only.endswith(" [2 user]")
    assert made.archived == ()


@pytest.mark.parametrize(
    ("before", "after"), [line.split("|") for line in NEWER.strip().split("\n")]
)
def test_a_newer_value_stands_after_the_older_and_is_the_last_to_go(
    before: str, after: str
) -> None:
    parent = child(None, (before, "Fine.")).summary
    both = child(parent, (after, "Noted."), depth=2)
    assert both.superseded == 0
    assert sorted(line[-8:] for line in lines(both.summary)) == ["[1 user]", "[2 user]"]
    room = sum(len(line) for line in lines(both.summary)) - 10
    tight = ledger(parent, None, exchanges((after, "Noted."), depth=2), [], [], room, len)
    assert [line[-8:] for line in lines(tight.summary)] == ["[2 user]"]
    assert [found.text for found in tight.archived] == [before]


@pytest.mark.parametrize(("one", "other"), [line.split("|") for line in KEPT.strip().split("\n")])
def test_what_differs_in_a_telling_word_stays(one: str, other: str) -> None:
    made = child(child(None, (one, "Fine.")).summary, (other, "Noted."), depth=2)
    assert made.superseded == 0
    assert len(lines(made.summary)) == 2


def test_the_best_match_is_replaced_and_only_that() -> None:
    assert chain(
        "The kitchen budget is 8,000 euros. The bathroom budget is 5,000 euros. The garden "
        "budget is 900 euros.",
        "Correction: the bathroom budget is 6,200 euros.",
    ) == [
        "The kitchen budget is 8,000 euros. [1 user]",
        "The garden budget is 900 euros. [1 user]",
        "Correction: the bathroom budget is 6,200 euros. [2 user]",
    ]


def test_in_doubt_both_stay_the_newer_one_later() -> None:
    assert chain(
        "The kitchen budget is 8,000 euros. The bathroom budget is 5,000 euros.",
        "The budget is now 7,000 euros.",
    ) == [
        "The kitchen budget is 8,000 euros. [1 user]",
        "The bathroom budget is 5,000 euros. [1 user]",
        "The budget is now 7,000 euros. [2 user]",
    ]


def test_a_correction_of_a_correction() -> None:
    assert chain(
        "The boiler timer is set to 30 minutes.",
        "The boiler timer is now 45 minutes.",
        "Set the boiler timer to 40 minutes instead of 45.",
    ) == [
        "Set the boiler timer to 40 minutes instead of 45. [3 user]",
        "The boiler timer is set to 30 minutes. [1 user]",
    ]


def test_a_list_in_one_query_is_no_series_of_corrections() -> None:
    assert len(chain("- Deposit: 1,200 euros\n- Deposit: 1,350 euros\n- Rent: 900 euros")) == 3


def test_a_decision_is_taken_back_for_another() -> None:
    assert chain(
        "We decided to use PostgreSQL for the billing service because the team knows it.",
        "We're moving the billing service to MariaDB instead of PostgreSQL.",
    ) == ["We're moving the billing service to MariaDB instead of PostgreSQL. [2 user]"]


def test_a_reply_never_replaces_what_the_user_decided() -> None:
    parent = child(
        None, ("Rule: the deposit is at most 500 euros. The rent is 900 euros.", "Fine.")
    ).summary
    reply = (
        "The deposit is now at most 800 euros. The rent is 950 euros. The rent has been "
        "changed to 990 euros."
    )
    made = child(parent, ("Look it up.", reply), depth=2).summary
    assert made.decisions == ("Rule: the deposit is at most 500 euros. [1 user]",)
    assert made.key_facts == (
        "The rent is 900 euros. [1 user]",
        "The deposit is now at most 800 euros. [2 reply]",
        "The rent is 950 euros. [2 reply]",
        "The rent has been changed to 990 euros. [2 reply]",
    )


def test_pasted_text_replaces_nothing() -> None:
    parent = child(None, ("The rent is 900 euros.", "Fine.")).summary
    pasted = f"The rent is now 700 euros instead of 900. {'Lorem ipsum dolor sit amet. ' * 800}"
    made = child(parent, (pasted, "I see."), depth=2)
    assert made.superseded == 0
    assert made.summary.key_facts[0] == "The rent is 900 euros. [1 user]"


@pytest.mark.parametrize(
    ("task", "done", "closed"),
    [
        ("I still need to pay the gas bill.", "I paid the gas bill this morning.", 1),
        ("I have to return the library books.", "The library books are back, done.", 1),
        ("Ich muss noch die Gasrechnung bezahlen.", "Die Gasrechnung ist bezahlt.", 1),
        ("Je dois encore rendre les livres.", "Les livres, c'est fait.", 1),
        ("Todavía tengo que pagar la factura del gas.", "La factura del gas ya está pagada.", 1),
        ("Devo ancora restituire i libri.", "I libri li ho già restituiti, fatto.", 1),
        ("I still need to pay the gas bill.", "I paid the electricity bill this morning.", 0),
        ("I still need to pay the gas bill.", "The gas bill isn't paid yet.", 0),
        ("I still need to call the school about the trip.", "I've already called the dentist.", 0),
    ],
)
def test_a_task_is_closed_by_saying_so(task: str, done: str, closed: int) -> None:
    parent = child(None, (task, "Fine.")).summary
    assert len(parent.pending) == 1
    made = child(parent, (done, "Great."), depth=2)
    assert made.closed == closed
    assert (task in " ".join(made.summary.pending)) is not bool(closed)


def test_a_task_is_closed_and_never_replaced() -> None:
    task = "I still have to pay the plumber 340 euros."
    correction = "The plumber now wants 360 euros instead of 340."
    assert sorted(chain(task, correction)) == [f"{task} [1 user]", f"{correction} [2 user]"]


def test_two_hundred_corrections_find_their_lines_among_two_thousand() -> None:
    parent = Summary(
        key_facts=tuple(
            f"The budget of room {room} is {room + 13} euros. [1 user]" for room in range(2000)
        )
    )
    spoken = [
        (f"Correction: the budget of room {room} is {room * 9} euros.", "Fine.")
        for room in range(1, 200)
    ]
    made = ledger(parent, None, exchanges(*spoken, depth=2), [], [], 1_000_000, len)
    assert made.superseded == 199
    assert len(made.summary.key_facts) == 2000

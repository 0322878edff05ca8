"""What a block keeps of one conversation in ten languages and six scripts."""

from __future__ import annotations

import pytest

from chat_loop.context.grounding import drop_groundless
from chat_loop.context.ledger import items, ledger
from chat_loop.context.summary import transcribe
from chat_loop.sessions.records import Summary
from tests.support.scripted_chat import words
from tests.support.sentences import exchanges

SAID = """\
The boat is called Marlin.|The deposit is 350 euros.|The notary has not called back yet.|Ask the notary again
Das Boot gehört meiner Tante.|Die Miete beträgt 780 Euro.|Den Klempner müssen wir noch anrufen.|Klempner anrufen
La clé est chez la voisine.|La cuisine mesure 312 cm.|Il faut encore arroser les tomates.|Arroser les tomates
El perro no come pollo.|El tren sale a las 17:52.|Falta pedir los tacos de la estantería.|Pedir los tacos
Il forno non funziona più.|La porta ascolta sul 6543.|Dobbiamo ancora vendere la bicicletta.|Vendere la bicicletta
Лодка стоит в гараже.|Залог составляет 420 евро.|Нужно ещё позвонить в школу.|Позвонить в школу
犬は鶏肉を食べられません。|敷金は9万円です。|棚のアンカーをまだ注文していない。|棚のアンカーの注文
船的名字叫马林。|押金是2600元。|还没有给律师打电话。|给律师打电话
배 이름은 말린이에요.|보증금은 510유로입니다.|아직 학교에 전화하지 않았어요.|학교에 전화하기
القارب عند أختي.|العربون 640 يورو.|لم نتصل بالمدرسة بعد.|الاتصال بالمدرسة"""
"""Two facts, an open point, and what a summary makes of it, in one language each."""


@pytest.mark.parametrize("times", [1, 3])
def test_facts_and_open_points_of_ten_languages_outlive_compactions(times: int) -> None:
    lines = [line.split("|") for line in SAID.split("\n")]
    spoken = exchanges(*((" ".join(said), "OK.") for *said, _ in lines))
    bullets = tuple(f"{bullet} [1.{number}]" for number, (*_, bullet) in enumerate(lines, 1))
    told = drop_groundless(Summary(pending=bullets), [transcribe(each) for each in spoken])
    block = ledger(None, told, spoken, (), (), 100_000, words).summary
    for _ in range(times - 1):
        block = ledger(block, None, (), (), (), 100_000, words).summary
    text = "\n".join(item.text for item in items(block))
    assert [said for *two, _, _ in lines for said in two if said not in text] == []
    gone = [said for *_, said, bullet in lines if said not in text and bullet not in text]
    assert gone == []

"""Grammar (data): the small words by which a sentence shows of whom it speaks, and whether it
commands.
"""

from __future__ import annotations

from collections.abc import Mapping

from chat_loop.facts.lexicon import lexicon

ASKING = lexicon(
    """
    what which who whom whose when where why how is are was were do does did can could would will should shall may
    has have am wer wen wem wie wo wann warum wieso welche welcher welches ist sind kann kannst könnte könntest soll
    sollte hast habt haben gibt darf que quoi qui quand où comment pourquoi quel quelle est faut peux pouvez as avez
    qué quién cuándo dónde cómo cuál es puedes podrías hay tienes che cosa chi dove come quale quanto puoi potresti
    hai o qual quem onde quando podes pode tem wat waar wanneer waarom hoe welke kun kan kunt zou heb
    """
)
"""Words that open a question; behind a statement and a comma they ask only for an opinion on it."""
PRONOUNS: Mapping[str, frozenset[str]] = {
    "en": lexicon("it it's they they're he he's she she's that's both there"),
    "de": lexicon("es er dort dabei dafür davon darin damit danach beide"),
    "fr": lexicon("il elle ils elles ça cela c"),
    "es": lexicon("eso esto está es son cuesta sale ella él ellos allí queda cierra abre"),
    "it": lexicon("è costa sta lui lei loro sono lì apre chiude"),
    "pt": lexicon("é está custa isso isto ele ela eles fica são abre fecha"),
    "nl": lexicon("hij zij ze daar beide"),
}
PERHAPS: Mapping[str, frozenset[str]] = {
    "en": lexicon("this that these those"),
    "de": lexicon("das die der sie dies"),
    "nl": lexicon("het dat die dit deze"),
}
"""Words that are a pronoun before a verb and an article before a noun."""
VERBS = lexicon(
    """
    is was are were has had have will would should can means needs costs takes goes runs includes must gets ist sind
    war waren hat haben hatte kostet läuft liegt muss müssen soll sollen wird werden kann können gilt heißt steht
    dauert kommt kommen geht bleibt fährt beginnt zijn heeft hebben kost loopt ligt moet moeten wordt worden duurt
    komt gaat blijft staat begint gelden est sont son è sono é são tem tiene ha a
    """
)
EXPLETIVES: Mapping[str, frozenset[str]] = {"il": lexicon("faut y s a"), "es": lexicon("gibt tut")}
"""What follows a pronoun that stands for nothing: "il faut", "es gibt"."""
OURS = lexicon(
    """
    i we my our mine ours me us i'm i've i'll we're we've we'll ich wir mein meine meinen meinem meiner unser unsere
    unseren unserem unserer mir mich uns je j nous mon ma mes notre nos moi mi mis nuestro nuestra nuestros nuestras
    nosotros yo io noi mio mia miei mie nostro nostra nostri meu minha meus minhas nosso nossa nossos nós eu ik wij
    mijn ons onze mij
    """
)
YOURS = lexicon(
    """
    you your you're you've you'll dein deine deinen deinem deiner ihr ihre ihren ihrem ihrer du dir dich sie ihnen tu
    ton ta tes vous votre vos te tus usted su sus tuo tua tuoi tue lei suo sua você teu seu je jij jouw u uw
    """
)
WE = lexicon(
    """
    we we're we've we'll us our wir uns unser unsere unseren nous on notre nos nosotros nuestro nuestra noi nostro
    nostra nós nosso nossa wij ons onze
    """
)
BUT = lexicon("but though aber jedoch mais pero ma però mas maar")
POLITE = lexicon("please bitte svp plaît favor favore alstublieft alsjeblieft surtout")
WANTS = lexicon(
    "want möchte möchten veux veut voulons voudrais quiero queremos voglio vorrei vogliamo "
    "quero wil willen"
)
SPEAKER = lexicon("i ich je yo io eu ik it that this das es ça c eso isso het dat cannot")
"""Who opens a sentence that forbids nothing: "I cannot find it", "that can't be"."""
WHY = lexicon("because weil denn parce car porque perché poiché siccome pois omdat want")
MODALS = lexicon(
    """
    must may can can't cannot should shall mustn't shouldn't muss müssen darf dürfen soll sollen kann können doit
    doivent peut peuvent faut debe deben puede pueden deve devono può possono devem pode podem moet moeten mag mogen
    kan kunnen
    """
)
PERSONAL = lexicon(
    """
    i i'm i've i'd he she it they it's he's she's my your his her their that this there ich er sie es mein meine dein
    deine seine ihre das je j il elle ils elles mon ma mes ton ta son sa ses c ça yo él ella ellos mi tu su eso io
    lui lei loro mio mia suo sua eu ele ela eles meu minha seu isso ik hij zij ze mijn zijn haar dat het
    """
)
BEFORE_A_SUBJECT = lexicon(
    """
    and but so well oh ah yes no und aber ja nein et mais oui y pero sí e ma sì mas sim en maar nee
    """
)
REASONS = lexicon(
    """
    because since otherwise weil denn sonst deshalb parce car sinon porque ya perché altrimenti pois senão omdat want
    anders reason grund
    """
)

"""Words (pure): a sentence's tokens, the language it is in, and its content words in a form that
can be compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from chat_loop.facts.lexicon import lexicon

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")

_FUNCTION = {
    "en": """
        a an the and or but if so as than that this these those there here it its it's i i'm i've i'll i'd me my
        mine we we're we've we'll our ours us you your you're you'll he he's she she's his her him they they're
        their them who whom whose which what when where why how is isn't are aren't was wasn't were be been being am
        do does did don't doesn't didn't has have had hasn't haven't will won't would wouldn't can can't cannot
        could couldn't should shouldn't must mustn't may might shall let let's to of in on at by for from with
        without into onto out over under about after before between during until till since up down off not no nor
        too very just only also still again then once all any some each every both few more most other such own same
        yes please thanks well really quite rather ever never always already yet because while though although
        however anyway that's there's what's one ones someone something anything nothing everyone everything get got""",
    "de": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber wenn
        weil dass daß ob als wie so da dort hier es ich mich mir mein meine meinen meinem meiner wir uns unser
        unsere unseren unserem unserer du dich dir dein deine er ihn ihm sie ihr ihre ihren ihrem sein seine seinen
        man wer wem wen was wann wo warum wieso welche welcher welches ist sind war waren bin bist sei wäre werden
        wird wurde wurden worden hat habe haben hatte hatten kann können könnte muss müssen musste soll sollen
        sollte will wollen wollte darf dürfen mag möchte mögen zu zum zur von vom in im ins an am ans auf aus bei
        beim mit nach vor für über unter durch gegen ohne um bis seit nicht nie niemals nur auch noch schon sehr
        doch mal dann denn jetzt immer wieder bitte ja nein danke etwas nichts alles alle jeder jede jedes mehr viel
        wenn's sich dieser diese dieses diesen diesem daher darum deshalb also halt eben gerade ganz gut""",
    "fr": """
        le la les l un une des du de d et ou mais si que qu qui quoi dont où quand comment pourquoi ce c cet cette
        ces cela ça je j me m moi mon ma mes nous notre nos tu te t toi ton ta tes vous votre vos il elle ils elles
        lui leur leurs son sa ses se s on y en est sont était étaient suis es sommes êtes être été ai as a avons
        avez ont avait avoir fait faut peut peux pouvons pouvez doit dois devons devez va vais vont sera seront
        serait à au aux dans sur sous par pour avec sans chez vers entre après avant depuis pendant ne n pas plus
        jamais rien aussi encore déjà très bien tout toute tous toutes même donc alors car parce puis ici là oui non
        merci svp plutôt quel quelle quels quelles""",
    "es": """
        el la los las un una unos unas de del a al y u pero si que qué quien quién cual cuál cuando cuándo donde
        dónde como cómo porque por para con sin en sobre entre hasta desde hacia tras durante yo me mi mí mis
        nosotros nos nuestro nuestra nuestros nuestras tú te ti tu tus usted ustedes él ella ellos ellas le les lo
        su sus se es son era eran fue fueron ser sido soy somos está están estaba estoy estamos estar hay ha he has
        han hemos había haber tiene tengo tenemos tienen puede puedo podemos pueden debe debemos va voy vamos van
        será sería no ni nunca nada también tampoco ya aún todavía muy más menos tan todo toda todos todas este esta
        esto estos estas ese esa eso aquel aquí allí ahora entonces sí gracias favor""",
    "it": """
        il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle da dal dalla
        in nel nello nella nei nelle su sul sulla con per tra fra senza e ed o ma se che chi cui quale quali quando
        dove come perché cosa io mi me mio mia miei mie noi ci nostro nostra nostri nostre tu ti te tuo tua voi vi
        vostro lui lei loro suo sua suoi sue si è sono era erano sei siamo siete essere stato stata ho hai ha
        abbiamo avete hanno avere aveva può posso possiamo deve devo dobbiamo va vado andiamo vanno sarà non mai
        niente nulla anche ancora già molto più meno tutto tutta tutti tutte questo questa questi queste quello
        quella qui lì ora allora sì no grazie""",
    "pt": """
        o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela para com sem sobre
        entre até desde e ou mas se que quem qual quais quando onde como porque eu me mim meu minha meus minhas nós
        nosso nossa nossos nossas tu te teu tua você vocês ele ela eles elas lhe seu sua seus suas é são era eram
        foi foram ser sido sou somos está estão estava estou estamos estar há tem tenho temos têm ter pode posso
        podemos podem deve devemos vai vou vamos vão será não nem nunca nada também ainda já muito mais menos tão
        todo toda todos todas este esta isto estes estas esse essa isso aquele aqui ali agora então sim obrigado
        obrigada""",
    "nl": """
        de het een en of maar als dat die dit deze er hier daar ik me mij mijn we wij ons onze je jij jou jouw u uw
        hij hem zijn zij ze haar hun wie wat waar wanneer waarom hoe welke is was waren ben bent wordt worden werd
        heeft hebben heb had kan kunnen kon moet moeten moest mag mogen wil willen zal zullen zou gaan gaat te van
        in op aan bij met naar voor na over onder door tegen zonder om tot sinds uit niet nooit geen alleen ook nog
        al heel erg dan toen nu altijd weer ja nee dank iets niets alles alle elke meer veel want omdat dus zich""",
}

_GENERIC = """
    set setting sets change changed changes changing move moved moving raise raised lower lowered increase increased
    decrease decreased reduce reduced bump bumped cut cost costs costing take takes took need needs use used uses
    using run runs running go goes going went make makes made put keep keeps kept new old current currently previous
    previously today tomorrow now instead actually correction update updated updates longer anymore switch switched
    replace replaced reschedule rescheduled postpone postponed push pushed bring brought forward shift shifted value
    exactly around roughly approximately turns turn sorry meant mean earlier later back fix fixed agree agreed
    decide decided plan planned planning remember note important heads said told called says confirm confirmed stay
    stays stand stands come comes starts start started happen happens lie lies live lives sit sits located think
    thing things way by only least most maximum minimum max min total per rule decision please coming getting having
    being doing wait scratch say better guess maybe want wants setzen gesetzt setze geändert ändern änderung
    verschoben verschieben verlegt erhöht gesenkt reduziert statt stattdessen jetzt neu neue neuer neues neuen alt
    alte alten bisher aktuell aktuelle ab sofort doch künftig nun gilt gelten kostet kosten dauert beträgt liegt
    liegen steht stehen läuft laufen bleibt machen gemacht nehmen genommen nutzen verwenden brauchen braucht heißt
    korrektur eigentlich vielmehr genau ungefähr etwa rund insgesamt findet kommt fängt beginnt entschieden
    beschlossen wichtig merke heute morgen besser lieber warte moment quatsch sagen changé changer passé passe
    déplacé reporté augmenté baissé réduit désormais plutôt finalement maintenant nouveau nouvelle ancien coûte
    prend dure met mis mettre utilise utiliser fixé actuellement environ décidé aujourd hui demain lieu mieux
    attends pardon enfin cambiado cambiar cambió movido mueve pasado pasa aplazado subido bajado reducido ahora
    lugar vez nuevo nueva antiguo cuesta tarda dura usa usar usamos puesto poner fijado actualmente corrección unos
    aproximadamente hoy mañana mejor espera perdón perdona cambiato cambiare spostato spostata rinviato aumentato
    ridotto adesso invece nuovo nuova vecchio costa usare messo mettere attualmente correzione circa oggi domani
    meglio aspetta scusa mudou mudado mudar passou adiado aumentado reduzido agora novo nova antigo custa demora
    posto pôr atualmente correção cerca hoje amanhã melhor desculpa veranderd gewijzigd wijzigen verplaatst verzet
    verhoogd verlaagd plaats nieuw nieuwe oud oude voortaan kost duurt gebruiken gebruik zetten gezet eigenlijk
    correctie ongeveer vandaag beter wacht
"""

NEGATIONS = lexicon(
    """
    not no never nobody nothing none cannot can't don't doesn't mustn't shouldn't nicht nichts kein keine keinen keiner
    keinem niemand nie pas rien jamais personne aucun aucune nada nadie ningún ninguna nunca non niente nessuno nessun
    mai não ninguém nenhum nenhuma niet geen niets nooit nirgends nirgendwo nowhere nulle ninguna nergens
    """
)
"""Words that deny or forbid, of all languages."""
LIMITS = lexicon(
    "only solely nur bloß ausschließlich seul seule seuls seules uniquement seulement solo "
    "sólo solamente"
    " únicamente soltanto solamente só somente apenas alleen enkel slechts"
)
"""Words that allow one thing and nothing else."""

_WORD = re.compile(
    r"(?<![^\W_])(?:[cdjlmnst]|qu|dell|nell|all|dall|sull|un|quest|jusqu|lorsqu|puisqu)(?=['’])"
    r"|[^\W_]+(?:['’][a-z]{1,3}(?![^\W_]))?",
    re.IGNORECASE,
)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,64}")
"""Scripts that are written without blanks: there every pair of characters counts as a word."""
_ENDINGS = re.compile(r"(?:ungen|ung|ments?|ings?|ed|es|en|er|em|s|e|n|a|o|i)\Z")


@lru_cache(maxsize=1024)
def tokens(text: str) -> tuple[str, ...]:
    """The words and numbers of `text` in small letters; French and Italian elisions stand alone
    ("j", "ai").
    """
    return tuple(_WORD.findall(text.replace("’", "'").lower()))


@cache
def _function_sets() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _FUNCTION.items()}


@cache
def _languages() -> Mapping[str, tuple[int, ...]]:
    """A function word -> the positions in LANGUAGES of those that have it."""
    sets = _function_sets()
    return {
        word: tuple(n for n, name in enumerate(LANGUAGES) if word in sets[name])
        for word in stopwords()
    }


@cache
def stopwords() -> frozenset[str]:
    """The function words of all languages."""
    return frozenset().union(*_function_sets().values())


@cache
def generic() -> frozenset[str]:
    """Stems that do not tell one subject from another, such as those of "changed" or "now"."""
    return frozenset(map(stem, _GENERIC.split()))


def language(found: Iterable[str], fallback: str = "", least: int = 1) -> str:
    """The language most of whose function words stand among the tokens; `fallback` when that is not
    clear.

    `least`: how many function words it takes; they must be more than any other language has.
    """
    usual = _function_sets().get(fallback)
    if usual is not None and least > 1 and len(usual.intersection(found)) > least:
        return fallback
    table = _languages()
    hits = [0] * len(LANGUAGES)
    for word in frozenset(found):
        for number in table.get(word, ()):
            hits[number] += 1
    second, most = sorted(hits)[-2:]
    best = LANGUAGES[hits.index(most)]
    if most >= least and most > second:
        return best
    if most >= 2 and (fallback not in LANGUAGES or hits[LANGUAGES.index(fallback)] < most):
        return best
    return fallback


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without accents and without the commonest endings of the seven languages."""
    word = word.removesuffix("'s")
    if not word.isascii():
        word = "".join(
            c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)
        )
    if len(word) <= 4 or word.isdigit():
        return word[:3] if len(word) == 4 and word[3] == "s" and word[2] != "s" else word
    match = _ENDINGS.search(word)
    return word[: max(4, match.start())] if match else word


def content(found: Iterable[str], language: str = "") -> tuple[str, ...]:
    """The stems of the content words among tokens, in order, each once. Numbers are none."""
    stop = _function_sets().get(language) or stopwords()
    stems: dict[str, None] = {}
    for word in found:
        if word in stop or not word[0].isalpha():
            continue
        if not word.isascii() and _WIDE.search(word):
            stems.update(dict.fromkeys(word[i : i + 2] for i in range(min(len(word), 200) - 1)))
        elif len(word) > 1:
            stems[stem(word)] = None
    return tuple(stems)


def alike(one: str, other: str) -> bool:
    """Whether two stems mean the same: one begins with the other ("prod", "production"), a compound
    ends with it, or they are forms of one word ("restituir", "restituit").
    """
    if one == other:
        return True
    if any(sign.isdigit() for sign in one + other):
        return False  # service1 and service12 are two things
    short, long = sorted((one, other), key=len)
    if (
        len(short) >= 3
        and long.startswith(short)
        and (len(short) >= 4 or len(long) - len(short) > 3)
    ):
        return True
    forms = (
        len(short) > _SAME_FORM
        and long[:_SAME_FORM] == short[:_SAME_FORM]
        and len(long) <= _SAME_FORM + 3
    )
    return forms or (len(short) >= 5 and long.endswith(short))


_SAME_FORM = 6
"""Letters that forms of one word have in common at least."""

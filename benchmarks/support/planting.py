"""Conversations with facts planted in chatter, to measure which facts a search finds, and which
queries it rightly finds nothing for.

A line of `planted.txt` contains a fact: the sentence that is said, a question about it in other
words, and the text that the right exchange must contain. Every second fact is kept out of all
tuning: `FACTS[1::2]`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from chat_loop.sessions.records import Exchange, Query, Reply

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone(timedelta(hours=1)))


@dataclass(frozen=True)
class Fact:
    language: str
    statement: str
    question: str
    answer: str


@dataclass(frozen=True)
class Chatter:
    """The small talk in one language: queries with a topic, and sentences from which replies are
    made.
    """

    topics: tuple[str, ...]
    queries: tuple[str, ...]
    sentences: tuple[str, ...]
    asides: tuple[str, ...]
    """Queries without a topic."""


CHATTER = {
    "en": Chatter(
        topics=(
            "database indexes", "the staging environment", "ports and firewalls", "password managers",
            "a birthday cake", "half marathons", "log rotation", "cat food", "the dentist", "hotel booking sites",
            "cron jobs", "memory usage", "websocket servers", "marketing budgets", "garden fences", "flight delays",
            "thesis writing", "calendar apps", "deployment pipelines", "commit messages", "rental contracts",
            "heating systems", "apple trees", "caching", "upload forms", "mail servers", "API keys", "unit tests",
            "book clubs", "the sea",
        ),
        queries=(
            "Can you explain how {0} work in simple words?", "Write a short poem about {0}.",
            "What are the pros and cons of {0}?", "Give me three tips for {0}.",
            "What is the difference between {0} and {1}?", "I am tired of {0}, cheer me up.",
            "Which mistakes do beginners make with {0}?", "Tell me a joke about {0}.",
            "How would you introduce {0} to a new colleague?", "Translate a sentence about {0} into Latin.",
            "Draft a friendly mail about {0}.", "Is it worth spending money on {0}?",
        ),
        sentences=(
            "With {0} it pays to start small and to measure first.", "Most people meet {1} long before they need {0}.",
            "A good rule of thumb: spend 20 minutes a day on {0}.",
            "The server, the client and the network all matter.",
            "You can set a limit, for example 10 or 50, and change it later.",
            "It depends on your budget and your time.",
            "If the test fails, look at the first error and not at the last.",
            "In the third step you compare {0} with {1}.",
            "Keep a backup, write down the password, and test the restore.", "Some teams prefer the opposite order.",
            "Many books about {1} come back to {0} in the end.", "The name is less important than the address.",
            "I would wait until the end of the month before deciding.", "Here is the short version: {0} are useful.",
            "Choose a default port, a default page and a default time.", "A cron job at night is the usual answer.",
            "The cost lies between 100 and 400 euros.", "Friends and colleagues can help with {1}.",
        ),
        asides=("thanks, go on", "yes please", "ok, next", "that was funny", "hm, really?", "shorter, please",
        "great!"),
    ),
    "de": Chatter(
        topics=(
            "Datenbanken", "Testumgebungen", "Ports und Firewalls", "Passwörter", "Geburtstagskuchen", "Fahrräder",
            "Protokolle", "Stromanbieter", "Zahnärzte", "Ferienwohnungen", "Warteschlangen", "Zeitzonen",
            "Mietverträge",
            "Einschulungen", "Hefeteig", "Wanderungen", "Bilderkennung", "Waschmaschinen", "Rechnungen", "Formulare",
            "Solaranlagen", "Schriftarten", "Bahnhöfe", "Küchenkabel", "Hausverwaltungen", "Fitnessstudios",
        ),
        queries=(
            "Kannst du mir {0} einfach erklären?", "Schreib ein kurzes Gedicht über {0}.", "Was spricht für {0}?",
            "Gib mir drei Tipps zum Thema {0}.", "Was ist der Unterschied zwischen {0} und {1}?",
            "Welche Fehler machen Anfänger bei {0}?", "Erzähl mir einen Witz über {0}.",
            "Schreib eine freundliche Mail über {0}.", "Lohnt es sich, Geld für {0} auszugeben?",
        ),
        sentences=(
            "Bei {0} lohnt es sich, klein anzufangen.", "Viele kennen {1}, bevor sie {0} brauchen.",
            "Eine Faustregel: jeden Tag 20 Minuten für {0}.", "Server, Client und Netzwerk spielen alle eine Rolle.",
            "Eine Grenze von 10 oder 50 lässt sich später ändern.", "Das hängt vom Geld und von der Zeit ab.",
            "Wenn der Test abbricht, hilft der erste Fehler mehr als der letzte.", "Im dritten Schritt kommt {1} dazu.",
            "Mach eine Sicherung und notiere das Passwort.", "Manche Teams machen es genau umgekehrt.",
            "Der Name ist weniger wichtig als die Adresse.", "Warte bis zum Ende des Monats mit der Entscheidung.",
            "Die Kosten liegen zwischen 100 und 400 Euro.", "Freunde und Kollegen helfen bei {1} gern.",
            "Nachts läuft ohnehin ein Auftrag auf dem Server.", "Die Wohnung, der Vertrag und die Schule gehen vor.",
        ),
        asides=("danke, weiter", "ja bitte", "gut, und jetzt?", "kürzer bitte", "wirklich?", "super!"),
    ),
    "fr": Chatter(
        topics=(
            "les bases de données", "la préproduction", "les ports", "les mots de passe", "un gâteau", "les baux",
            "les journaux", "les plombiers", "les randonnées", "les trains", "les budgets", "les modèles",
            "les jardins",
            "les imprimantes", "les vacances", "les modules", "les réunions", "les tantes", "les caches",
            "les chaudières",
            "les tests", "les concours", "les salons", "les cookies", "les garages", "les chats",
        ),
        queries=(
            "Peux-tu m'expliquer {0} simplement ?", "Écris un petit poème sur {0}.", "Quels avantages pour {0} ?",
            "Donne-moi trois conseils sur {0}.", "Quelle différence entre {0} et {1} ?", "Raconte une blague sur {0}.",
            "Rédige un courriel aimable sur {0}.", "Faut-il dépenser de l'argent pour {0} ?",
        ),
        sentences=(
            "Avec {0}, mieux vaut commencer petit.", ("On connaît souvent {1} avant d'avoir besoin "
                                                     "de {0}."),
            "Une règle simple : 20 minutes par jour pour {0}.", "Le serveur, le client et le réseau comptent tous.",
            "Une limite de 10 ou 50 se change plus tard.", "Cela dépend du budget et du temps.",
            "Si le test échoue, regarde la première erreur.", "À la troisième étape, compare {0} et {1}.",
            "Garde une sauvegarde et note le mot de passe.", "Certaines équipes font le contraire.",
            "Le nom compte moins que l'adresse.", "Attends la fin du mois avant de décider.",
            "Le prix va de 100 à 400 euros.", ("Les amis et les collègues aident volontiers avec "
                                              "{1}."),
        ),
        asides=("merci, continue", "oui, s'il te plaît", "d'accord, la suite", "plus court", "vraiment ?", "génial !"),
    ),
    "es": Chatter(
        topics=(
            "las bases de datos", "las pruebas", "los puertos", "las contraseñas", "una tarta", "los alquileres",
            "los registros", "los fontaneros", "las excursiones", "los trenes", "los presupuestos", "los modelos",
            "los jardines", "las impresoras", "las vacaciones", "los módulos", "las reuniones", "los abuelos",
            "las cachés", "las calderas", "los concursos", "los salones", "las cookies", "los talleres", "los perros",
        ),
        queries=(
            "¿Me explicas {0} con palabras sencillas?", "Escribe un poema corto sobre {0}.",
            "¿Qué ventajas hay en {0}?",
            "Dame tres consejos sobre {0}.", "¿Qué diferencia hay entre {0} y {1}?", "Cuéntame un chiste sobre {0}.",
            "Redacta un correo amable sobre {0}.", "¿Vale la pena gastar dinero en {0}?",
        ),
        sentences=(
            "Con {0} conviene empezar poco a poco.", ("Mucha gente conoce {1} antes de necesitar "
                                                     "{0}."),
            "Una regla: 20 minutos al día para {0}.", "El servidor, el cliente y la red importan.",
            "Un límite de 10 o 50 se cambia más tarde.", "Depende del presupuesto y del tiempo.",
            "Si la prueba falla, mira el primer error.", "En el tercer paso compara {0} con {1}.",
            "Guarda una copia y apunta la contraseña.", "Algunos equipos hacen lo contrario.",
            "El nombre importa menos que la dirección.", "Espera al final del mes para decidir.",
            "El coste va de 100 a 400 euros.", "Los amigos y colegas ayudan con {1}.",
        ),
        asides=("gracias, sigue", "sí, por favor", "vale, lo siguiente", "más corto", "¿de verdad?", "¡genial!"),
    ),
}  # fmt: skip

NOTHING_TO_FIND = (
    "thanks, go on", "write a poem about the sea", "yes, do that", "continue", "Can you make that shorter?",
    "Write a function that reverses a linked list.", "What is the capital of Australia?", "ok thanks, that helps a lot",
    "Explain how TCP slow start works.", "Please rewrite the last paragraph in a friendlier tone.",
    "How do I undo the last commit in git?", "Give me a recipe for pancakes.",
    "Tell me a bedtime story about a dragon.",
    "What is the difference between a list and a tuple?", "Why is the sky blue?", "I am bored, entertain me.",
    "Translate 'good morning' into Japanese.", "Write a SQL query that counts users per country.",
    "How many planets are there in the solar system?", "Summarise what you just said in one sentence.",
    "What should I wear to a job interview?", "Show me an example in Rust.", "No, the other one.", "Try again.",
    "Let us talk about something else.", "How do I open a port in ufw?", "Generate ten names for a sailing boat.",
    "Who wrote Faust?", "Please add type hints to this code: def f(x): return x + 1", "Good evening!",
    "What time is it in Tokyo?", "How can I sleep better?", "Write unit tests for a stack class.",
    "Explain password hashing to a beginner.", "What does a database index do?", "Fix the grammar: he go to school",
    "danke, mach weiter", "Schreib ein Gedicht über den Herbst.", "Was ist die Hauptstadt von Peru?",
    "Erkläre mir die Relativitätstheorie.", "Kannst du das bitte kürzer fassen?", "Wie koche ich ein Ei?",
    "Wie lösche ich einen Branch in Git?", "Ja, genau so.", "Schreibe eine Funktion, die Primzahlen zählt.",
    "Erzähl mir etwas über Vulkane.", "Wer hat das Telefon erfunden?", "Nein, anders.", "Guten Morgen!",
    "Was bedeutet das Wort Zugzwang?", "Welche Programmiersprache soll ich lernen?", "Übersetze das ins Englische.",
    "merci, continue", "Écris une chanson sur la pluie.", "Quelle est la capitale du Canada ?", "Plus court, svp.",
    "Comment faire cuire du riz ?", "Explique la photosynthèse.", "Oui, vas-y.", "Bonjour !",
    "Corrige cette phrase : je suis allé au école", "Qui a peint la Joconde ?", "Donne un exemple en Python.",
    "gracias, sigue", "Escribe una canción sobre la lluvia.", "¿Cuál es la capital de Chile?", "Más corto, por favor.",
    "¿Cómo se hace el arroz?", "Explica la fotosíntesis.", "Sí, adelante.", "¡Buenos días!",
    "¿Quién pintó el Guernica?", "Corrige esta frase: yo ha ido a casa", "Dame un ejemplo en Java.",
    "grazie, continua", "obrigado, continua", "dank je, ga door", "谢谢，继续",
    "写一首关于秋天的诗", "ありがとう、続けて", "俳句を一つ書いてください", "спасибо, дальше", "Расскажи анекдот.",
    "고마워요, 계속해 주세요",
)  # fmt: skip
"""New queries that are related to nothing in the archive."""


def facts() -> tuple[Fact, ...]:
    found = []
    language = ""
    for line in (Path(__file__).parent / "planted.txt").read_text("utf-8").split("\n"):
        if line.startswith("# "):
            language = line[2:]
        elif line:
            found.append(Fact(language, *line.split(" | ")))
    return tuple(found)


FACTS = facts()


def conversation(
    length: int = 1000, seed: int = 7, planted: tuple[Fact, ...] = FACTS
) -> list[Exchange]:
    """Return chatter in several languages in which every fact is said once, by the user or in a
    reply. A session has 40 queries.
    """
    chance = random.Random(seed)
    places = dict(zip(chance.sample(range(length), len(planted)), planted, strict=True))
    languages = sorted(CHATTER)
    found = []
    for place in range(length):
        language = languages[place // 20 % len(languages)]
        fact = places.get(place)
        query, reply = talk(
            chance, CHATTER.get(fact.language if fact else language, CHATTER[language])
        )
        if fact is not None:
            if chance.random() < 0.6:
                query = fact.statement if chance.random() < 0.5 else f"{query} {fact.statement}"
            else:
                sentences = reply.split(" ")
                cut = chance.randrange(len(sentences))
                reply = f"{' '.join(sentences[:cut])} {fact.statement} {' '.join(sentences[cut:])}"
        found.append(exchange(place // 40 + 1, place % 40 + 1, query, reply, minutes=place * 7))
    return found


def talk(chance: random.Random, chatter: Chatter) -> tuple[str, str]:
    topics = chance.sample(chatter.topics, 2)
    query = (
        chance.choice(chatter.asides)
        if chance.random() < 0.2
        else chance.choice(chatter.queries).format(*topics)
    )
    sentences = chance.sample(chatter.sentences, chance.randint(2, 9))
    return query, " ".join(sentence.format(*topics) for sentence in sentences)


def exchange(
    depth: int, number: int, query: str, reply: str | None = "", minutes: int = 0
) -> Exchange:
    at = START + timedelta(minutes=minutes)
    answered = None if reply is None else Reply(number=number, at=at, text=reply)
    return Exchange(Query(number=number, at=at, text=query), answered, depth)

"""Sentences that people say in chats, in eight languages and more: some with a fact to keep, and
chatter without one.

A line of FACTS contains the speaker (`u` is the user, `r` the model), the sentence, and the part
that must be kept.
"""

from __future__ import annotations

from chat_loop.sessions.records import Exchange, Query, Reply
from tests.support.scripted_chat import START

FACTS = """\
u|While I'm at it: the boiler was last serviced on 12 February and the technician charged 184 euros.|184 euros
u|Mum's train gets in at 17:52 on Friday, platform 9.|17:52
u|I measured the alcove, it's 87 cm wide.|87 cm
u|Nina can't have hazelnuts, she ended up in hospital once.|hazelnuts
u|The plumber's called Grzegorz Nowak and he's really reliable.|Grzegorz Nowak
u|Please keep in mind that my husband works nights.|works nights
u|I booked under reference KX7-2290.|KX7-2290
u|The failing test lives at tests/api/test_login.py:212.|tests/api/test_login.py:212
u|The bad commit is 4be91c7.|4be91c7
u|Docs for the thing are at https://wiki.example.org/runbooks/failover.|https://wiki.example.org/runbooks/failover
u|We've gone back and forth, but we're taking the night train since flying with the cello is a nightmare.|night train
u|I've made up my mind: the walls will be sage green, as white shows every fingerprint.|sage green
u|Going with linoleum in the hallway because it survives the dog.|linoleum
u|Whatever you do, never email the tenants directly.|tenants
u|Nothing may be shipped on a Friday afternoon.|Friday
u|You mustn't mention the party to my sister.|party
u|Ask me before you rename any file.|rename
u|Please always answer in metric units.|metric
u|I still have to return the library books before Saturday.|library books
u|Someone needs to water the tomatoes while we're away.|tomatoes
u|I need to call the school about the trip.|school
u|We looked at heat pumps but they were far too loud for the courtyard.|heat pumps
u|We ruled out Croatia, too hot in August.|Croatia
u|Kubernetes was considered but dropped.|Kubernetes
u|My new number is 0171 5550142.|0171 5550142
u|The kids' school starts at 8:10 now.|8:10
u|He takes 75 mg of the blood thinner every morning.|75 mg
u|The spare key is with Mrs Abernathy in flat 12.|Mrs Abernathy
u|The database listens on port 6543.|6543
u|retention is 35 days for the audit log|35 days
u|The env var is called REPORT_BATCH_SIZE and it's 250.|250
u|Grandma's address: 27 Orchard Lane, second floor.|27 Orchard Lane
u|I can spend at most £40 on the present.|£40
u|Übrigens: Die Heizung wurde zuletzt am 12. Februar gewartet.|12. Februar
u|Mamas Zug kommt am Freitag um 17.52 Uhr an.|17.52
u|Die Nische ist 87 cm breit, ich habe nachgemessen.|87 cm
u|Nina verträgt keine Haselnüsse.|Haselnüsse
u|Wir haben uns für den Nachtzug entschieden, weil Fliegen mit dem Cello furchtbar ist.|Nachtzug
u|Wir nehmen SQLite, einen Server will hier keiner betreiben.|SQLite
u|Freitags wird nie ausgeliefert.|ausgeliefert
u|Bitte frag mich, bevor du eine Datei umbenennst.|Datei
u|Ich muss noch die Bücher zurückbringen.|Bücher
u|Jemand muss die Tomaten gießen, solange wir weg sind.|Tomaten
u|Kroatien ist raus, im August ist es da zu heiß.|Kroatien
u|Camping kommt mit Baby nicht infrage.|Camping
u|Die Datenbank lauscht auf Port 6543.|6543
u|Meine neue Nummer: 0171 5550142|0171 5550142
u|Zur Feier kommen 14 Gäste.|14 Gäste
u|Le train de maman arrive vendredi à 17h52.|17h52
u|Notre comptable s'appelle Petra Lindqvist.|Petra Lindqvist
u|On a choisi le train de nuit parce que l'avion avec le violoncelle, c'est l'enfer.|train de nuit
u|N'écris jamais directement aux locataires.|locataires
u|Demande-moi avant de renommer un fichier.|renommer
u|La facture de gaz n'est pas encore payée.|facture
u|Pas question de camper avec un bébé.|camper
u|Por cierto, la caldera se revisó el 12 de febrero y costó 184 euros.|184 euros
u|Necesito 320 g de harina de espelta.|320 g
u|Nina es alérgica a las avellanas.|avellanas
u|Nunca escribas directamente a los inquilinos.|inquilinos
u|Todavía tengo que devolver los libros.|libros
u|La factura del gas sigue pendiente.|factura
u|Il treno di mamma arriva venerdì alle 17:52.|17:52
u|Nina è allergica alle nocciole.|nocciole
u|Non scrivere mai direttamente agli inquilini.|inquilini
u|La Croazia l'abbiamo scartata, ad agosto fa troppo caldo.|Croazia
u|O comboio da mãe chega sexta-feira às 17:52.|17:52
u|Nunca escrevas diretamente aos inquilinos.|inquilinos
u|Desistimos da Croácia, em agosto é muito quente.|Croácia
u|Mama's trein komt vrijdag om 17:52 aan.|17:52
u|Schrijf de huurders nooit rechtstreeks.|huurders
u|Kroatië valt af, in augustus te heet.|Kroatië
u|会議は3月14日の15時からです。|3月14日
u|Budżet na kuchnię to 32 000 zł.|32 000 zł
r|I checked: the clinic's emergency line is 030 555 0199.|030 555 0199
r|According to the lease you sent, the notice period is 3 months.|3 months
r|So we use the smaller oven, because the big one trips the fuse.|smaller oven
r|You still need to send the signed form to the landlord.|signed form
r|Das Formular gibt es unter https://amt.example.de/f/217.|https://amt.example.de/f/217
r|Die Tapete kostet 24,90 € pro Rolle.|24,90 €
r|El plazo de preaviso es de 3 meses.|3 meses
r|I put the backup under /srv/backup/2026-03.|/srv/backup/2026-03
r|The hotel confirmed two rooms for 236 euros per night.|236 euros
u|Okay so the crash comes from lib/parser/tokens.rs:77 according to the trace. Any idea?|lib/parser/tokens.rs:77
u|Tracking number is 00340434161094042557 by the way.|00340434161094042557
u|The handyman we always call is Tobias Grün, he lives around the corner.|Tobias Grün
u|My colleague Wei Zhang reviews everything that touches payments.|Wei Zhang
u|After a long discussion we opted for the blue sofa. The grey one would have been gone in a year.|blue sofa
u|Remember: no shellfish when Pia is at the table.|shellfish
u|Just don't put the dog in the kennel overnight.|kennel
u|You're not to call external services from the tests.|external services
u|It would be good if somebody booked the ferry soon, that's still open.|ferry
u|What's left is the tax return, I'll do it on the weekend.|tax return
u|Before I go to bed I have to soak 250 g of beans.|250 g
u|MongoDB was my first idea, but I've dropped it because joins matter here.|MongoDB
u|Painting the ceiling dark didn't work out, so that's gone.|ceiling
u|Change of plans: pickup is at gate 4, not at gate 2.|gate 4
u|Sorry, I meant 2.5 kg, not 2 kg.|2.5 kg
u|Die Babysitterin nimmt 14 Euro die Stunde. Hast du Tipps für den ersten Abend?|14 Euro
u|Die Rechnungsnummer ist INV-2026-0417, bitte merken.|INV-2026-0417
u|Frau Dr. Albers aus der Kita hat heute früh angerufen.|Albers
u|Nach langem Hin und Her ist es das blaue Sofa.|blaue Sofa
u|Den Hund bitte nicht über Nacht in den Zwinger.|Zwinger
u|Wichtig ist uns, dass die Kinder nicht fotografiert werden.|fotografiert
u|Ich darf nicht vergessen, das Fitnessstudio zu kündigen.|Fitnessstudio
u|An ein Tandem hatten wir gedacht, aber das ist zu schwer für die Hügel.|Tandem
u|Kein Airbnb diesmal, letztes Jahr war eine Katastrophe.|Airbnb
u|Nicht 2 kg, sondern 2,5 kg.|2,5 kg
u|La baby-sitter prend 14 euros de l'heure.|14 euros
u|Ne mets jamais le chien au chenil la nuit.|chenil
u|On avait pensé à un tandem, mais c'est trop lourd pour les collines.|tandem
u|Le pédiatre nous a déplacés à 11h20.|11h20
u|La canguro cobra 14 euros la hora.|14 euros
u|No dejéis nunca al perro en la perrera por la noche.|perrera
u|Habíamos pensado en un tándem, pero pesa demasiado para las cuestas.|tándem
u|Per le vacanze prendiamo il traghetto, perché Oscar sta male in galleria.|traghetto
u|Devo disdire la palestra.|palestra
u|Para as férias vai ser o ferry, porque o Óscar enjoa no túnel.|ferry
u|De oppas rekent 14 euro per uur.|14 euro
u|De hond mag 's nachts nooit naar de kennel.|kennel
r|Looking at the trace, the leak starts in svc/cache/pool.go:301.|svc/cache/pool.go:301
r|Given your numbers, the monthly instalment comes to 842.17 euros.|842.17
r|The ticket for that bug is OPS-2291.|OPS-2291
r|Your sister's train connection: ICE 724 at 8:04, change in Fulda.|ICE 724
r|We ruled out the attic because of the load limit.|attic
r|Für 12 Personen brauchst du 3,6 kg Kartoffeln.|3,6 kg
r|Zuständig ist beim Amt Herr Sommerfeld.|Sommerfeld
r|Para 12 personas necesitas 3,6 kg de patatas.|3,6 kg
u|Note to self: the passport office closes at 12:30.|12:30
u|For future reference, our customer number with the energy company is 4471-882.|4471-882
u|The person handling our claim at the insurance is called Nadia Ferrante.|Nadia Ferrante
u|Our neighbour Mrs Oyelaran feeds the cat when we travel.|Oyelaran
u|I weighed the suitcase this morning and it came to 22.4 kg.|22.4 kg
u|The nursery takes in kids from 7:15.|7:15
u|The flat is 94 square metres.|94
u|I'd like us to keep the old door, it has character.|old door
u|We'll be doing the ceremony outdoors; the hall feels gloomy.|outdoors
u|We're standardising on pytest because everybody knows it.|pytest
u|Please don't suggest anything with pork.|pork
u|The backup disk must not leave the house.|backup disk
u|Nobody but me may open the safe.|safe
u|All prices in the offer have to include VAT.|VAT
u|Don't use async in the importer.|async
u|I haven't heard back from the notary yet.|notary
u|I promised Sofia to proofread her thesis.|Sofia
u|We should order the cake soon.|cake
u|It's on me to write the release notes.|release notes
u|We won't be going with the solar tiles after all, the payback is twenty years.|solar tiles
u|I thought about hiring a DJ but the budget doesn't allow it.|DJ
u|We gave up on the idea of a pond.|pond
u|Correction: the viewing is at 18:15, not 17:45.|18:15
u|The price went up to 259 euros.|259 euros
u|Merken: Ersatzsicherung hat 16 A.|16 A
u|Beschlossen: wir mieten den Transporter für zwei Tage.|Transporter
u|Theo hat Angst vor Hunden, das solltest du wissen.|Hunden
u|Wenn was kaputtgeht, ist Jonas Petersen aus der IT zuständig.|Jonas Petersen
u|Der Koffer wiegt 22,4 kg.|22,4 kg
u|Die Wohnung hat 94 Quadratmeter.|94
u|Die Wahl fiel auf Kork, das ist leise.|Kork
u|Die Katze darf nachts nicht raus.|Katze
u|Nie direkt auf main pushen!|main
u|In diese Wand dürfen keine Nägel.|Nägel
u|Zu tun: drei Angebote fürs Dach einholen.|drei Angebote
u|Der Förderantrag muss bis 30. April raus.|30. April
u|Wir sollten bald die Torte bestellen.|Torte
u|Die Idee mit dem Teppich ist gestorben, der fängt zu viel Staub.|Teppich
u|Electron wurde wegen des Speicherverbrauchs abgelehnt.|Electron
u|Redis kommt nicht in Frage, der Betrieb will das nicht.|Redis
u|Notre numéro client est le 4471-882.|4471-882
u|L'armoire ne fait que 58 cm de profondeur.|58 cm
u|Le chat ne doit pas sortir la nuit.|chat
u|On ne peut pas planter de clous dans ce mur.|clous
u|Je n'ai toujours pas de nouvelles du notaire.|notaire
u|Electron a été rejeté à cause de la mémoire.|Electron
u|Nadia Ferrante lleva nuestro caso en el seguro.|Nadia Ferrante
u|Aceptamos el segundo presupuesto porque pueden empezar en abril.|segundo presupuesto
u|Nada de cerdo, por favor.|cerdo
u|La moqueta queda descartada, coge mucho polvo.|moqueta
u|Del nostro caso si occupa Nadia Ferrante.|Nadia Ferrante
u|Abbiamo accettato il secondo preventivo perché possono iniziare ad aprile.|secondo preventivo
u|Niente maiale, per favore.|maiale
u|La moquette è da escludere, prende troppa polvere.|moquette
r|As agreed, we leave out the pond because it needs a permit.|pond
r|What is still missing is the notary's confirmation.|notary
r|From your figures the loan ends in 2038.|2038
r|Offen ist noch die Bestätigung vom Notar.|Notar
r|Según tu contrato, el plazo es de 6 semanas.|6 semanas
"""

CHATTER = """\
Hi, how are you today?
Can you explain how sourdough works?
Hmm, I'm not sure about that.
Give me 3 ideas for dinner.
It's raining cats and dogs here.
For example 20 or 30 euros would be fine in theory.
Don't worry about the typos.
Could you shorten that to 100 words?
How long should I boil an egg, 6 or 7 minutes?
That makes sense.
I'm a bit tired today.
Suppose the rate went up to 6 %, what then?
That was a nice weekend.
Explain the difference between TCP and UDP in 2 sentences.
Interesting, I didn't know that.
Sounds good to me.
I don't know what to cook tonight.
We had a lovely walk by the river.
I love this song.
Does it hurt?
Danke, das hilft mir sehr!
Gute Idee, gefällt mir.
Gib mir 3 Ideen fürs Abendessen.
Zum Beispiel 20 oder 30 Euro wären okay.
Keine Sorge wegen der Tippfehler.
Reichen dafür 30 Minuten?
Ich bin heute etwas müde.
Bonjour, comment ça va ?
Donne-moi 3 idées pour le dîner.
Et si on avait 5 ou 10 invités de plus ?
Gracias, me ayuda mucho.
Hoy hace buen tiempo.
Dammi 3 idee per la cena.
Hallo, hoe gaat het?
Het is lekker weer vandaag.
Obrigado, isso ajuda muito.
We should meet more often, haha.
I think the second option is nicer.
I had such a long day, the bus was late again and I got soaked.
Do you think we should paint it green or blue?
Could we do that in two steps?
Haha, you should have seen his face!
Can you make it a bit friendlier?
I need to know whether that's normal.
That would be great.
I'm reading a novel about a lighthouse indexer.
We went to the market and bought way too much.
The film was too long for my taste.
Make the list shorter, maybe 5 points.
Mein Bruder weiß immer alles besser.
Kannst du das etwas freundlicher formulieren?
Das wäre super.
Der Film war mir zu lang.
Was kostet eine neue Küche normalerweise?
Qu'est-ce que je cuisine ce soir ?
Le film était trop long.
¿Qué cocino esta noche?
Ho avuto una giornata lunghissima.
I've always had a soft spot for old doors.
It must be nice to live by the sea.
We should all be kinder to each other.
My boss is in a good mood today.
That's too bad.
You don't have to apologise.
Everybody loves cake.
No worries, take your time.
I need a break.
Could you list the pros and cons of cork flooring?
Maybe we should move to the countryside someday.
Ich muss los, bis später!
Das ist zu schade.
Ich brauche eine Pause.
Ich überlege noch zwischen Kork und Eiche.
Die Kinder waren heute so laut wegen der Hitze.
Dommage.
Tengo que irme, ¡hasta luego!
Devo andare, a dopo!
"""
"""Sentences that the user says."""

REPLIES = """\
Sure, happy to help!
You can usually keep it in the fridge for up to 7 days.
Here are three ideas for dinner:
Would you like me to continue?
Let me know if you need anything else.
In general, a budget of 20 or 30 euros could be enough.
That sounds like a lovely plan.
Always preheat the oven before baking.
You could also try a lighter colour.
Das hängt von deinem Geschmack ab.
Sauerteig ist eine Mischung aus Mehl und Wasser.
Bien sûr, avec plaisir !
¡Claro que sí!
Certo, volentieri!
TCP is connection-oriented, while UDP is not.
Cats do sleep a lot, often 12 to 16 hours a day.
A new kitchen typically costs between 8,000 and 20,000 euros.
Make sure to water them regularly.
I'd suggest a slow cooker for that.
Remember to save your work often.
In the 19th century, lighthouses were often run by families.
Python lists are mutable, tuples are not.
You can always ask your landlord.
Achte darauf, regelmäßig zu gießen.
Am besten beginnst du mit dem Boden.
Une cuisine coûte en général entre 8 000 et 20 000 euros.
Cork comes from the bark of the cork oak.
It's best to book the cake 4 weeks ahead.
Electron apps bundle a whole browser, so they need a lot of memory.
Notaries usually answer within 2 weeks.
There are three things you need to check first.
That's a great choice because cork is warm underfoot.
Du könntest drei Firmen anfragen.
Le liège vient de l'écorce du chêne-liège.
"""
"""Sentences that the model says, about the world rather than about the user's affairs."""


def exchanges(*pairs: tuple[str, str], depth: int = 1) -> list[Exchange]:
    """Return exchanges with the given queries and replies."""
    return [
        Exchange(
            Query(number=number, at=START, text=query),
            Reply(number=number, at=START, text=reply),
            depth,
        )
        for number, (query, reply) in enumerate(pairs, 1)
    ]

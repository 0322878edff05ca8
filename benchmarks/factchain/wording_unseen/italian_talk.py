"""Italian small talk of the unseen profile: the text around the facts. None of it is scored."""

TALK = """
Saluti dal sedile del passeggero, siamo dietro a {slow:un trattore|una roulotte|un gregge}.
Scrivo con un pollice solo, l'altro ha incontrato il coltello del pane.
È tornato il riscaldamento e con lui la voglia di vivere.
{kin} mi ha insegnato un gioco di carte, ho perso {=^#} mani di fila.
C'era nebbia sui campi, pareva un film.
La posta dice {=+##} non letti e io non ci credo.
Il risotto mi è venuto da stuccare i muri.
Qualcuno ha scaldato del pesce in ufficio, il piano è in lutto.
Sono indietro su tutto, ma allegramente.
Il cane di fronte ulula con {noise:il gelataio|le campane|la nettezza}.
Le prove sono finite alle undici, mi fischiano le orecchie.
Ho pulito la cucina invece delle tasse, secondo tradizione.
{kin} giura di aver visto {bird:un martin pescatore|un airone|una poiana}, senza prove.
La catena ci ha messo {=^#} minuti a dirmi che mancava una virgola.
In scala c'è odore di vernice e nessuno sa perché.
Il taccuino è caduto nel lavello, sto ricostruendo il cervello.
Ho spiegato due volte a mio padre cos'è una scheda del browser.
Campiamo degli avanzi della festa, olive soprattutto.
A quanto pare dormo con due sveglie e una prova antincendio.
I bambini hanno fatto una tana con tutti i cuscini.
Metà banda ha l'influenza, l'altra metà fa finta di no.
In pausa ero su una panchina a guardare litigare le anatre.
È il periodo in cui compro semi e non li semino.
Una cliente ci ha scritto una poesia, e fa rima.
Sul mio portatile i test passano, e si sa che conta quello.
Pioggia sulla tenda, tè del thermos, c'è di peggio.
L'ascensore è fermo da {=^} settimane, ho polpacci magnifici.
È arrivato il divano, non passa dalla porta, nessuno ha riso.
Verso qui quello che ho in testa prima di perderlo.
"""

ASK = """
Ti convince?
Vedi qualche trappola?
Lo ripassiamo insieme?
Me lo metti in bella?
È sciocco in quest'ordine?
Da che parte inizieresti?
Dimmi la verità.
"""

REPLY = """
Bene, con questo posso lavorare.
Partirei da ciò che blocca gli altri.
Può aspettare un giorno più tranquillo.
Nove volte su dieci è l'adattatore.
Una prova senza pubblico dice più di qualunque piano.
Se le istruzioni si contraddicono, fidati del foglio nuovo.
Le api, come la gente, non amano la fretta.
Puoi dividerlo, un pezzo a te e uno a {kin}.
Scrivere il test prima di toccare qualcosa aiuta parecchio.
Un pizzico di sale esalta il dolce, stranamente.
Tieni gli scontrini in una busta, ti ringrazierai.
È questione di gusto e il tuo mi sta bene.
La documentazione tace, un esperimento breve è la via più rapida.
Fallo raffreddare {=^#} minuti prima del taglio.
Un ospite utile è un ospite felice, distribuisci i compiti.
Non verrà perfetto e non serve.
Il rumore sarà un cuscinetto, costano poco.
Quello che ha più di {=^} anni può finire in solaio.
Proverei pure il ripristino, una copia mai aperta è solo speranza.
Sotto i {=^} anni spesso si viaggia gratis, ma chiedi.
Una sola query lenta rende pesante tutta la pagina.
La ghiaia drena meglio di quanto si creda.
L'istinto è giusto, la seconda opzione rischia meno.
Le cose pesanti sotto e quelle fragili in grembo.
Nessuno ti obbliga a rispondere a tutti oggi.
A volte la riparazione più economica è un adesivo.
La sera i colori cambiano.
Se poi cigola, basta una goccia d'olio.
Mettila piuttosto come domanda.
Rimisura prima di forare, i muri non sono mai dritti.
Dormici sopra, l'offerta non scappa.
"""

DECOYS = """
E se fossero {=+##}, solo per gioco, alzeresti lo stesso le spalle?
Nel romanzo l'eroe nasconde {=+###} monete in lib/{pkg}/{src}.ts:{=+##}, insomma, quasi.
Pensa a uno stadio di {=^#}.000 persone che canticchiano, era così.
Se uno sconosciuto ti desse {=^##} euro per la bici, diresti no anche tu?
Come modello andrebbe «{given} {family}, tavolo {=^}», giusto per l'impaginazione.
I link tipo https://sample.invalid/{=???###} mi sembrano sempre sospetti.
"""

OPENERS = """
A pensarci bene,
Visto da fuori,
Detto tra noi,
Per parte mia,
"""

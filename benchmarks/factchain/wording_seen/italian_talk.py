"""Italian small talk of the seen profile: the text around the facts. None of it is scored."""

TALK = """
Piove da {day} e il bucato non si asciuga.
Ho dormito male, quindi perdonami se suona un po' confuso.
I vicini rifanno {what:il tetto|il vialetto|il camino} e il rumore comincia prima delle sette.
{who} ti saluta, abbiamo mangiato {food:la zuppa|le crespelle|l'arrosto|i ravioli} e parlato per ore.
Mezza mattina a cercare gli occhiali e li avevo in testa.
In ufficio oggi c'era poco da fare, quasi tutti sono in ferie.
Domenica abbiamo fatto {=1#}.{=###} passi per {town} e mi fanno ancora male i piedi.
Ho {drink:un tè|un caffè|una cioccolata} accanto e un'ora di pace.
Il nuovo panettiere all'angolo va bene, ma i panini sono minuscoli.
Alle poste avevo di nuovo {=+#} persone davanti.
Faccio tante domande, lo so, ma scrivere mi aiuta a capire.
Il treno era in ritardo e ho letto {=+#} pagine del romanzo che dicevi.
{who} ha il raffreddore e anche a me pizzica la gola.
Abbiamo visto finalmente il film di cui tutti parlano e a metà dormivo.
La compilazione è rimasta rossa quasi tutto il pomeriggio, più che altro per le macchine.
Ho riguardato i log con il panino in mano e niente di strano.
Le revisioni durano un'eternità, ognuno sta sul suo ramo.
I nomi in quel modulo continuano a non piacermi, questione di gusti.
La pianta dell'ufficio ha perso un'altra foglia, ne restano {=^}.
Il giardino è selvaggio, ma le api sembrano contente.
Ho provato il tuo trucco del panno umido e ha funzionato benissimo.
Tornando a casa ho incontrato {who}, non ci vedevamo da {=^} anni.
Prezzi folli, quasi {=^} euro per {small:un cavolfiore|un vasetto di olive|un mazzo di menta}.
Vorrei sistemarlo prima del fine settimana, sennò ci penso sempre.
La gatta ha deciso che gli scatoloni sono suoi.
Niente di urgente, riordino gli appunti e penso ad alta voce.
Il nonno ha chiamato e ha raccontato di nuovo la storia {story:dell'oca|del trattore|della valigia}.
{day} abbiamo ospiti, la casa deve essere quasi presentabile.
Volevo andare a correre, ma ha vinto il divano.
"""

ASK = """
Che ne pensi, ti sembra sensato?
Me lo metti un po' in ordine?
Mi è sfuggito qualcosa?
Tu come faresti?
Mi scrivi due o tre frasi da mandare a {who}?
C'è un modo più semplice?
Quale sarebbe il prossimo passo?
"""

REPLY = """
Sembra sensato, procederei a piccoli passi.
Grazie per i dettagli, così il quadro è molto più chiaro.
Per la parte esterna conviene aspettare una giornata asciutta.
Di solito la soluzione più semplice è quella che si capisce ancora dopo un anno.
Scriverei prima a {who}, perché il resto dipende dalla risposta.
Ci sono spesso due o tre modi, e cambia soprattutto la fatica.
Con il resto puoi prendertela comoda, non va a male niente.
Un messaggio breve a tutti risparmia spesso una lunga discussione.
Se {day} piove, fai la parte dentro e non perdi nulla.
Guarderei i log di quel momento prima di toccare le impostazioni.
Quasi tutti i programmi lo offrono, cambia solo il nome del menù.
Aiuta farlo una volta a mano, così si vede dove va il tempo.
Provalo su un campione piccolo e poi su tutto.
Molti ci inciampano, non scoraggiarti.
Nelle stanze a nord un bianco caldo è più accogliente.
Lascia riposare l'impasto una notte al freddo se si attacca alle mani.
Si sottovaluta quasi sempre il tempo per levigare.
Un tono gentile funziona meglio di una lunga lista di articoli.
Se vuoi ne faccio un messaggio.
L'ordine conta poco, però le misure vengono prima.
Una foto prima non costa niente, giusto per confronto.
Se il primo tentativo fallisce, il secondo riesce spesso dopo {=^#} minuti.
In due si fa molto prima.
Dipende anche un po' dalla stagione, certo.
Da come lo descrivi, la causa sta più nella configurazione che nel codice.
Un indice aiuta solo se la query filtra davvero su quella colonna.
Circa {=^} casi su dieci sono colpa del cavo.
A {town} avevano qualcosa di simile l'anno scorso.
Capisco il nervoso, quei moduli non sono fatti per le persone.
Nel dubbio chiedi una conferma scritta.
Vanno bene entrambe, scegli quella che sembra meno lavoro.
"""

DECOYS = """
Se la stanza fosse più lunga di {=^},{=#} metri ci starebbe un altro divano, ma non lo è.
Mettiamo che uno chieda {=1##} euro l'ora, da queste parti sarebbe normale?
Un file tipo src/{mod}/{file}_vecchio.py:{=+##} non lo troverebbe nessuno, in teoria.
Immagina {=+##} utenti insieme, che non ci sono, cambierebbe qualcosa?
Nel film la cassaforte aveva il {=+###} e nessuno ci arrivava.
Un indirizzo così assomiglia a https://example.org/{=???}/{=###}, tanto per mostrare.
"""

OPENERS = """
Sinceramente,
In generale,
Per esperienza,
Secondo me,
"""

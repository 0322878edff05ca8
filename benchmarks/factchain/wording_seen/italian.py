"""Italian facts of the seen profile: the author of the extractor may look at failures here."""

SLOTS = """
who: Giulia, Marco, Chiara, Luca, Sara, Pietro, Elisa, Davide
first: Adele, Bruno, Cinzia, Dario, Fulvia, Guido, Renata, Sergio
last: Albertini, Bonfanti, Cattaneo, Donati, Fornari, Galimberti, Marchetti, Orlandi, Pellegrini, Santoro
day: lunedì, martedì, mercoledì, giovedì, venerdì, sabato
month: marzo, aprile, maggio, giugno, settembre, ottobre, novembre
shop: Brico Nord, Falegnameria Rossi, Ceramiche Po, Casabella
town: Merano, Lucca, Otranto, Urbino, Varenna
env: collaudo, produzione, la sandbox, la demo
plant: pomodori, zucchine, lamponi, dalie
part: tentativi, blocchi, cache, pagine
bug: ciclo di accesso, perdita di memoria, pagina bianca, mail doppia
damage: danno da acqua, vetro rotto, furto della bici, danno da grandine
club: canottaggio, scacchi, tennis, coro
"""

LABELS = """
decision: Decisione, Deciso
rule: Regola, Importante
task: Da fare, Promemoria
other: Nota, Ricorda, Da tenere a mente
"""

LEADS = """
Ah,
A proposito,
Comunque,
Tra l'altro,
"""

NUMBER = """
U La *caldaia* {house:in cantina|nella casa al mare|in laboratorio|nella dependance} lavora bene solo a [1,{=#} bar],
  oltre la valvola comincia a gocciolare.
? Che pressione vuole il riscaldamento {house}?
U La fisioterapista vuole che *{who}* tenga *{move:il plank|il ponte|lo squat|l'affondo}* per [{=+#} secondi], tre
  volte al giorno.
? Quanto deve restare in posizione {who}?
U Abbiamo abbassato il *limite* di attesa su *{env}* a [{=+##} ms], perché dietro si formava la coda.
? Quando viene interrotta una richiesta su {env}?
U Per *{bread:il pane di segale|la focaccia|la brioche|la pizza}* alla fine ho messo [{=+##} g] di lievito madre, un
  po' più che nel libro.
? Quanto fermento va per {bread}?
U Ho misurato due volte, la nicchia per *{furn:il frigo|l'armadio|la lavatrice|la libreria}* è larga esattamente
  [1{=##},{=#} cm].
? Quanto spazio c'è dove andrà {furn}?
M In un'aiuola di quella misura, *{plant}* vogliono circa [{=+#} cm] tra una pianta e l'altra.
? Che distanza serve per {plant}?
M Di questo passo il fondo per *{pot:le vacanze|il tetto|la scuola|la macchina}* arriverà a [{=+}.{=+##} euro] a fine
  primavera.
? Quanto avremo risparmiato per {pot}?
M Io darei a *{svc}* una *riserva* di [{=+#} connessioni], così resta margine per i lavori notturni.
? Quanti accessi al database per {svc}?
"""

PATH = """
U L'errore di arrotondamento sta in [src/{mod}/{file}.py:{=+##}], qualcuno tronca *{kind:la fattura|la nota di
  credito|il buono|il preventivo}* prima dell'imposta.
? In che punto del codice è sbagliato l'importo: {kind}?
U La scansione *{doc:del contratto|del passaporto|della garanzia|del libretto}* la tengo in
  [~/Documenti/{folder}/scan-{=####}.pdf], la carta è da mia madre.
? Dov'è sul mio computer la copia digitale {doc}?
U Il test ballerino su *{feat:i caricamenti|i buoni|le password|le esportazioni}* è [tests/{mod}/test_{file}.py:{=+#}],
  cade una volta su dieci.
? Quale verifica non è affidabile per {feat}?
U Le foto *{event:del matrimonio|del battesimo|delle immersioni|della laurea}* sono finite in
  [/mnt/nas/foto/{folder}_{=20##}], accanto ai vecchi video.
? In quale cartella di rete sono le immagini {event}?
U I conti del club di *{club}* stanno in [comune/{folder}/cassa-{=####}.ods], e solo la tesoriera ci può scrivere.
? Quale foglio contiene le finanze di {club}?
M La logica di *{part}* comincia in [internal/{mod}/{file}.go:{=+##}], il punto di arresto lo metterei lì.
? A quale riga parte quella dei {part}?
M Ho messo la lista dei bagagli per *{trip:Lisbona|la Corsica|le Alpi|Dublino}* in [liste/{folder}-{=###}.md], le
  medicine in cima.
? In che file c'è cosa portiamo per {trip}?
M La migrazione che fallisce sulla tabella *{table:clienti|prenotazioni|pagamenti|scorte}* è
  [db/migrate/{=0###}_{file}.sql:{=+#}], aggiunge una colonna senza valore.
? Quale modifica del database rompe {table}?
"""

ID = """
U *{item:La lavastoviglie|La bici cargo|Il divano letto|La pompa di calore}* è stata ordinata col numero
  [{=@@-######}], se mai lo chiede l'assistenza.
? Che riferimento d'acquisto ha: {item}?
U Andando per bisezione, il problema di *{bug}* compare nel commit [{=%%%%%%%%}] del mese scorso.
? Quale revisione ha introdotto: {bug}?
U La nuova tessera della *biblioteca* di *{who}* ha il [{=#### #### ##}], la vecchia è rimasta sull'autobus.
? Con quale numero prende libri {who}?
U Il nostro codice di prenotazione per *{leg:il traghetto|il treno notturno|la macchina|il campeggio}* è [{=@@#@##}],
  lo accettano solo col passaporto.
? Sotto quale riferimento abbiamo preso {leg}?
U L'assicurazione ha aperto il *{damage}* come pratica [{=+#-####-####}], rispondono entro due settimane.
? Qual è il caso del {damage} in assicurazione?
M La traccia che hai incollato è della richiesta [req_{=%%%%%%%%%%}], quella in cui *{svc}* ha risposto due volte.
? Quale chiamata ha servito {svc} in doppio?
M Nella tua foto *{dev:il router|la stampante|il termostato|il forno}* ha il numero di serie [{=@#@@####}], quindi è
  ancora in garanzia.
? Cosa c'è scritto sulla targhetta: {dev}?
M Secondo il file di blocco, *{env}* girava con l'immagine [sha256:{=%%%%%%%%%%%%}] quando tutto andava.
? Con quale versione andava bene {env}?
"""

URL = """
U La maestra di *{who}* carica i compiti su [https://{site}.org/classe/{=#??#}], non serve nemmeno la password.
? Dove guardo cosa deve fare {who} per scuola?
U Le foto *{event2:della festa|della regata|del mercatino|della sagra}* sono su [https://{site}.net/a/{=????##}], ma il
  link scade tra un mese.
? Qual era l'indirizzo dell'album {event2}?
U Il *cruscotto* con le curve di *{env}* è su [https://{site}.io/d/{=%%%%%%}], ci vuole la VPN.
? Dove vedo le misure di {env}?
U Ho preso *{part2:le cerniere|lo stucco|le tegole|il miscelatore}* da [https://{site}.it/shop/{=#####}], spedizione
  gratis da cinquanta euro.
? Quale negozio in rete per {part2}?
U Tutte le schermate sul problema di *{bug}* sono in [https://{site}.dev/issues/{=+###}], leggi prima l'ultimo commento.
? Quale ticket documenta: {bug}?
M Il modulo ufficiale per *{matter:il cambio di residenza|il parcheggio|l'assegno|la tassa}* è su
  [https://{site}.it/f/{=@#-###}] e richiede dieci minuti.
? Su quale pagina si chiede {matter}?
M C'è una buona guida su *{topic:gli interruttori|le riserve di connessioni|le quote|il rilascio graduale}* a
  [https://{site}.io/guide/{=###}], con gli schemi.
? Quale lezione mi avevi dato per {topic}?
M La mia versione *{dish:della parmigiana|del ragù|della ribollita|della crostata}* viene da
  [https://{site}.com/r/{=####}], con metà del sale.
? Da dove arriva la tua ricetta {dish}?
"""

PERSON = """
U *{trade:L'idraulico|L'elettricista|Il piastrellista|Il lattoniere}* dei vicini si chiama [{first} {last}] e risponde
  solo ai messaggi.
? Come si chiama l'artigiano accanto ({trade})?
U Adesso è [{first} {last}] a fare lezione *{subj:di violino|di matematica|di nuoto|di disegno}* a *{who}*, con una
  pazienza infinita.
? Chi insegna a {who} ({subj})?
U Nel gruppo *{team:pagamenti|mobile|dati|piattaforma}* è [{first} {last}] che approva i rilasci, anche in ferie.
? Quale persona dà il via libera per {team}?
U In banca [{first} {last}] segue *{deal:il mutuo|il piano di risparmio|il conto comune|la polizza vita}* e preferisce
  che si chiami prima di pranzo.
? A chi telefono per {deal}?
U *{thing:Il pianoforte|La roulotte|Il tosaerba|La culla}* va a [{first} {last}], che passa con un rimorchio.
? Chi si prende: {thing}?
M Dalla cronologia, [{first} {last}] ha scritto quasi tutto il codice di *{part}*, chiederei lì.
? Chi conosce meglio la parte {part}?
M Il verbale del club di *{club}* nomina [{first} {last}] alla tesoreria, per un voto.
? Chi tiene la cassa di {club}?
M La lettera sul *{damage}* che hai copiato è firmata da [{first} {last}], la risposta va lì.
? Chi ci ha scritto dall'assicurazione per {damage}?
"""

DECISION = """
U Alla fine prendiamo [il piano in {wood:rovere|noce|faggio|frassino} di {shop}], soprattutto perché [si può levigare
  di nuovo].
? Perché {wood} in cucina?
U Dopo quella lunga chiamata andiamo con [{tech} per la coda di {svc}], visto che [{=^} di noi l'hanno già gestito].
? Cosa porterà i messaggi di {svc}, e perché?
U I bambini hanno votato, le vacanze {hol:d'autunno|d'inverno|di Pasqua|di Natale} le passiamo [al lago vicino a
  {town}], perché [il treno ci mette meno di {=^} ore].
? Dove si va {hol}?
U Mi sono decisa a [far operare il ginocchio di {who} a {month}], dato che [la lista d'attesa è più corta].
? Quando è l'intervento di {who}?
U Il codice di {svc} resta [nello stesso repository con {tool:l'app mobile|il pannello|il portale|la cassa}], così [un
  rilascio è un'etichetta sola].
? Come sta {svc} rispetto a {tool}?
M Quindi avete scelto di [dividere le tabelle di {svc} per {dim:cliente|regione|mese|filiale}], perché [ogni indice
  resta sotto {=+#} GB].
? Com'è la partizione di {svc}?
M Allora [{plant} nell'aiuola {side:sud|nord|est|ovest}] quest'anno, visto che [lì il sole arriva per {=^} ore].
? Cosa cresce sul lato {side}?
M Come detto, [i soldi per {pot:le vacanze|il tetto|la scuola|la macchina} vanno sul deposito], perché [rende il
  {=+},{=#} per cento fino a {month}].
? Dove mettiamo i risparmi per {pot}?
"""

RULE = """
U Non dare mai [a {who} niente con {food:nocciole|gamberi|lattosio|sesamo}], l'ultima volta [siamo finiti al pronto
  soccorso].
? Cosa non può mangiare {who}?
U Per favore [niente rilasci di {svc} dopo le {=1^} di {day}], [nessuno è reperibile].
? Quando non si pubblica {svc}?
U In nessun caso [si ripristina {env} dalla copia di {day}], [contiene ancora clienti veri].
? Quale backup è vietato per {env}?
U Nessuno deve [attaccare niente alla presa {room:del corridoio|della cucina|della soffitta|del garage}] mentre [gira
  {dev:il forno|l'asciugatrice|la saldatrice|il compressore}].
? Cosa evitiamo {room}?
U Nelle mail a {who} non voglio [una parola su {topic:l'eredità|la vecchia casa|il conto|la macchina}], altrimenti [la
  lite ricomincia].
? Di cosa si tace con {who}?
M Non si devono mai [mescolare {cleaner:lo sturalavandini|la candeggina|l'anticalcare|il gel per il WC} e aceto],
  perché [i vapori sono tossici].
? Cosa è pericoloso con {cleaner}?
M Non scrivere [{field:la data di nascita|il numero di carta|l'indirizzo|il codice fiscale} di un cliente nei log], i
  revisori [lo contano come violazione].
? Che cosa vale per {field} nelle tracce?
M Non si pota [{bush:il ciliegio|il lillà|l'ortensia|la magnolia} a {month}], perché [ha già le gemme].
? Quando lasciamo le cesoie: {bush}?
"""

TASK = """
U Mi resta da [chiamare {office:il comune|il padrone di casa|la mutua|l'asilo} per {who}], [entro {day} a mezzogiorno].
? Che telefonata c'è per {who}?
U Qualcuno deve [rinnovare la chiave di firma di {svc}], [al più tardi il {=2+}].
? Cosa va cambiato in {svc}, e quando?
U Appena asciuga la vernice voglio [rimettere i battiscopa {room:del corridoio|della cameretta|dello studio|della
  soffitta}], [probabilmente {day}].
? Che rifinitura manca {room}?
U Non abbiamo ancora [ridato {thing:la scala|il rimorchio|la tenda|il trapano} a {who}], [serve per {day}].
? Cosa dobbiamo a {who}?
U Da parte mia manca [la prova di carico di {svc}], da [mostrare al gruppo {day}].
? Quale misura di {svc} presento?
M Manca ancora [il controllo di {file} per {env}], che [volevi aggiungere entro {day}].
? Cosa volevi fare per {env}?
M Volevi anche [chiedere a {who} {item:la copia delle chiavi|il seggiolino|il letto per gli ospiti|il frigo portatile}]
  [quando vi vedete {day}].
? Che domanda c'è per {who}?
M Aperto nella lista: [ordinare {=+#} litri di {stuff:vernice|terriccio|smalto|concime}] [da {shop} entro {day}].
? Che scorta di {stuff} si compra?
"""

REJECTED = """
U Abbiamo guardato [la tenda da sole {brand:Solero|Markant|Veltura|Nordlicht}] e l'abbiamo scartata, [sbatte a ogni
  folata].
? Cosa non va nel parasole {brand}?
U Ho provato [{tech} come cache di {svc}] per una settimana e l'ho tolto, [perdeva {=+#} chiavi a ogni riavvio].
? Quale deposito non andava per {svc}?
U L'idea del [compleanno di {who} {place:in palestra di roccia|in fattoria|in piscina|al museo}] è saltata, [è tutto
  pieno fino a {month}].
? Perché {who} non festeggia {place}?
U Abbiamo pensato di [trasferirci a {town}] e poi no, [il tragitto sarebbe di {=+#} minuti].
? Perché non abitiamo a {town}?
U {who} proponeva [{fw:GraphQL|gRPC|i websocket|un bus di messaggi} per {svc}], ma non lo faremo, [servirebbe un altro
  gateway].
? Che fine ha fatto la proposta di {who} su {svc}?
M Quindi [{way:la strada costiera|il traghetto notturno|il passo|il vagone letto} verso {town}] è fuori, visto che
  [costa {=+#} euro in più].
? Quale percorso per {town} abbiamo eliminato?
M Non tornerei [alla dieta {kind:chetogenica|crudista|dei succhi|del cavolo}], il tuo medico [l'ha esclusa per il
  valore renale di {=+#}].
? Perché non mi fa bene mangiare così ({kind})?
M Abbiamo escluso [di spezzare {svc} per {dim:hash|data|paese|utente}], perché [i report uniscono {=^} pezzi].
? Cosa è stato rifiutato per far crescere {svc}?
"""

UPDATE = """
U *{who}* ha appuntamento *{appt:dal dentista|dall'oculista|per il vaccino|dal parrucchiere}* {day} alle [{=1#:~5}],
  guido io.
+ Hanno chiamato per *{who}*, *{appt}* si va alle [{=1#:~5}], l'hanno spostato.
? A che ora deve esserci {who} ({appt})?
U *{svc}* per ora gira con un *limite* di [{=+#} secondi], che mi sembra largo.
+ Oggi ho toccato il *limite* di *{svc}*, siamo scesi a [{=+#} secondi] senza lamentele.
? Quanto può metterci {svc} prima del taglio?
U L'*affitto* {flat:della casa in piazza|del garage|dello studio|della cantina} è di [{=+##} euro] al mese, senza
  riscaldamento.
+ Lo aumentano, l'*affitto* {flat} passa a [{=+##} euro] dal mese prossimo.
? Quanto paghiamo {flat}?
U *{who}* porta il [{=3#,5}] di *scarpe*, se qualcuno chiede per un regalo.
+ *{who}* è cresciuto ancora, di *scarpe* porta il [{=4~,5}] da questa settimana.
? Che misura di piede ha {who}?
U Il rilascio di *{svc}* è previsto come versione [{=+.#.1#}], con blocco due giorni prima.
+ Piccola correzione, *{svc}* esce come [{=+.#.2#}] perché il primo pacchetto era rotto.
? Con che numero esce {svc}?
U Il *codice* della porta {place:della rimessa|della casa al mare|della sala prove|dell'orto} è [{=+###}], tienilo per
  te.
+ Hanno cambiato il *codice* della porta {place}, si entra con [{=+###}] da ieri.
? Cosa digito all'ingresso {place}?
U Per la serata di *{club}* siamo a [{=1#} persone] in lista, contando i due della porta accanto.
+ Due rinunciano e una si aggiunge, la serata di *{club}* è a [{=2#} persone] oggi.
? Quanti ospiti ha {club}?
M Con l'offerta di *{shop}*, *{work:le finestre|la scala|il bagno|la terrazza}* verrebbe [{=+}.{=+##} euro], tutto
  compreso.
+ Con l'offerta corretta di *{shop}*, *{work}* viene [{=+}.{=+##} euro], la vecchia somma non conta.
? Che prezzo chiede {shop}?
M Il *backup* notturno di *{svc}* dovrebbe partire alle [{=+:~5}], subito dopo l'importazione.
+ Siccome l'importazione dura di più, fai partire il *backup* di *{svc}* alle [{=+:~5}].
? Quando salviamo {svc}?
"""

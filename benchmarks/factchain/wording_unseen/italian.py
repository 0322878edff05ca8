"""Italian facts of the unseen profile; the extractor's author never sees them or their failures."""

SLOTS = """
kin: Ludovica, Tancredi, Miriam, Ettore, Noemi, Samir, Viola, Brando
given: Amilcare, Benedetta, Clelia, Ermanno, Gisella, Ippolito, Nerina, Ubaldo
family: Acquaviva, Bertolucci, Cavalcanti, Fioravanti, Gambardella, Lazzarini, Mangiafico, Pagnotta, Quaglia, Zanardi
when: lunedì prossimo, martedì sera, mercoledì presto, giovedì a pranzo, domenica
season: fine gennaio, metà febbraio, inizio luglio, agosto, dicembre
vet: bassotto, pappagallo, gatto, criceto
gig: serata, parata, recita, cena benefica
hive: arnia nord, arnia rossa, arnia nuova, arnia del capanno
car: familiare, roulotte, moto, vespa
box: server multimediale, cluster k3s, nodo della serra, banco di build
prog: app di ricette, stazione meteo, fototeca, gara a quiz
"""

LABELS = """
decision: Deciso così, Decisione
rule: Attenzione, Vincolo
task: In sospeso, Non dimenticare
other: Segnati, Per la cronaca, Tieni presente
"""

LEADS = """
Beh,
Di passaggio,
Senti,
E poi,
"""

NUMBER = """
U A pieno carico la *{car}* vuole [{=^,#} bar] davanti, me l'ha scritto il gommista sulla ruota.
? A quanto gonfio la {car}?
U [{=+#,# chili}] segnava la bilancia con il *{vet}*, quindi la dose si dimezza.
? Quanto pesa adesso il {vet}?
U Ieri sera ho pesato l'*{hive}* e col melario faceva [{=^#,# kg}], più del previsto.
? Che peso aveva l'{hive}?
U Il catering della *{gig}* chiede [{=+}.{=+## €}] e le bevande sono a parte.
? Quanto costerebbe il cibo per la {gig}?
U Sul mio telefono preistorico l'apertura della *{prog}* dura ormai [{=+## millisecondi}].
? Quanto è veloce la {prog} a partire?
U Sono rimasti soltanto [{=+#,# metri}] *{cloth:di lino blu|di velluto verde|di cotone a righe|di feltro grigio}* e non
  ne arrivano altri.
? Quanta stoffa c'è in negozio {cloth}?
M Oltre [{=+## record}] per volta alla *{prog}* non ne darei, la quota è stretta.
? Che dimensione di lotto per la {prog}?
M Con le gambe di *{kin}*, una sella a [{=^# cm}] dal pedale è un inizio decente.
? Che altezza di bici per {kin}?
"""

PATH = """
U Se cerchi dove la *{prog}* inghiotte l'eccezione, è [lib/{pkg}/{src}.ts:{=+##}], nascosta bene.
? Dove sparisce l'errore della {prog}?
U I miei spartiti per la *{gig}* sono salvati come [/home/comune/{dir}/set-{=+##}.musx], le stampe nello sgabello.
? Quale file ha la musica della {gig}?
U Su Windows la *{prog}* sputa il dump in [C:\\Temp\\{dir}\\dump_{=####}.dmp], almeno da me.
? Dove raccolgo ciò che lascia la {prog} quando muore?
U Il foglio dei vaccini di *{kin}*, un po' mosso, l'ho messo in [~/Dropbox/{dir}/{kin}_{=####}.jpeg].
? Con che nome sta l'attestato di {kin}?
U Qualunque cosa dica il wiki, il *{box}* legge le impostazioni da [/etc/{pkg}/{src}-{=##}.toml].
? Da dove prende la configurazione il {box}?
M La vera *{smell:corsa critica|ricorsione|deriva|falla}* nasce in [pkg/{pkg}/{src}.rs:{=+##}], il resto è un sintomo.
? In che posizione del sorgente è la {smell}?
M La pianta *{place:del fienile|della chiatta|del monolocale|del circolo}* l'avevi salvata l'altro giorno come
  [piante/{dir}/v{=##}.svg].
? Quale disegno mostra le stanze {place}?
M La lettura la comincerei da [quaderni/{dir}/{src}_{=##}.ipynb], è lì che si traccia *{chart:la pioggia|la latenza|il
  polline|gli abbandoni}*.
? Dove nascono i grafici su {chart}?
"""

ID = """
U *{kin}* ha un altro cellulare, risponde al [3{=## ### ####}], la vecchia scheda è in un cassetto.
? Come telefono a {kin}?
U Se chiami per la *{car}*, dai subito il telaio [{=@@@##@##@######}], altrimenti nemmeno guardano.
? Che sigla di fabbrica ha la {car}?
U *{gear:Il mixer|La batteria|La tastiera|L'ampli}* è coperto dalla polizza [{=@@/####/##}], la lettera è saltata fuori.
? Che contratto protegge: {gear}?
U La sera in cui tutto è andato storto abbiamo riportato il *{box}* alla [v{=+}.{=#}.{=##}-g{=%%%%%%%}].
? Quale versione è tornata sul {box}?
U Il microchip del *{vet}* è [{=9########}{=######}], copiato dal lettore.
? Da quali cifre si riconosce il {vet} smarrito?
M L'identificativo che la *{prog}* mostra nella tua schermata è [{=%%%%%%%%-%%%%-4%%%}], l'assistenza lo vorrà.
? Cosa cito all'assistenza per la {prog}?
M *{film:Il giallo|Il ricettario|La guida|L'atlante}* ha l'ISBN [978-{=#-####-####-#}], quasi ogni biblioteca lo trova.
? Con che riferimento ordino: {film}?
M È il pacco [{=@@#########@@}] quello col regalo per *{kin}*, stando alla mail copiata.
? Come seguo la sorpresa di {kin}?
"""

URL = """
U Per la *{gig}* si iscrivono tutti su [https://{host}.events/si/{=??##??}], perfino mia zia.
? Dove si conferma per la {gig}?
U È stato [https://docs.{host}.app/{=+##}/{src}] a farmi capire il *{box}*.
? Quale articolo spiega il {box}?
U *{kin}* trasmette le prove, si guardano su [https://{host}.tv/live/{=??????}] senza registrarsi.
? Dove si vede provare {kin}?
U La telecamera dell'*{hive}* risponde su [http://{host}.local:{=8###}/cam], però solo da casa.
? Come guardo dentro l'{hive} da lontano?
U Ho versato la caparra per la *{car}* tramite [https://{host}.market/annuncio/{=########}], due settimane per
  ripensarci.
? Dov'è l'inserzione della {car}?
M Quello che cambia in *{lib}* si trova su [https://{host}.dev/{=####}/notes], la parte scomoda in fondo.
? Dove leggo le novità di {lib}?
M Per prorogare *{permit:la licenza di pesca|la cabina|il banco|il patentino}* si passa da
  [https://domanda.{host}.it/{=@@-##}] prima della scadenza.
? Quale sito tiene in vita {permit}?
M Gli accordi *{song:del bis|della ninna nanna|del primo brano|del valzer}* stanno su
  [https://{host}.band/tabs/{=+####}], capotasto al due.
? Su quale pagina è scritta la musica {song}?
"""

PERSON = """
U Per la *{gig}* abbiamo ingaggiato [{given} {family}] con la fisarmonica, caparra già versata.
? Chi suona alla {gig}?
U Il *{vet}* si opera e il bisturi lo tiene [{given} {family}], questo mi consola.
? Chi fa l'intervento al {vet}?
U Se il *{box}* cade di notte, il telefono ce l'ha [{given} {family}] fino a primavera.
? Chi svegliamo per il {box}?
U Dopo la riorganizzazione sopra di me c'è [{given} {family}], dell'area *{dept:strumenti|crescita|firmware|ricerca}*.
? A chi riferisco nell'area {dept}?
U *{kin}* divide la casa con [{given} {family}], si sono conosciuti arrampicando.
? Con chi abita {kin}?
M A integrare la tua patch di *{lib}* è stato il profilo di [{given} {family}], stando alla discussione.
? Chi ha accettato il mio contributo a {lib}?
M Allo sportello chiedi di [{given} {family}], che su *{permit:la licenza di pesca|la cabina|il banco|il patentino}* sa
  tutto.
? Quale impiegato segue {permit}?
M Sul programma della tua foto dirige [{given} {family}] *{piece:il requiem|l'oratorio|la sinfonia|la messa}*, stavolta.
? Chi sale sul podio per {piece}?
"""

DECISION = """
U Per noi sarà [il camper {colour:senape|petrolio|prugna|ruggine} col tetto {roof:a soffietto|fisso}], a far pendere la
  bilancia è che [passa sotto la sbarra di 2,{=#} m].
? Cosa ha pesato per quello color {colour}?
U Sulla {prog} resto [con {lib} anziché rifarla], il motivo è che [{kin} la segue in solitaria fino a {season}].
? Con cosa va avanti la {prog}?
U {kin} e io ci siamo accordati: [la {gig} si tiene {venue:nel frutteto|in municipio|in darsena|nel birrificio}], così
  [{=^#} carrozzine entrano senza gradini].
? Che luogo ha la {gig}?
U Basta discutere, [l'{hive} cambia regina a {season}], del resto [ha punto {kin} {=^} volte in sette giorni].
? Che ne è dell'{hive}?
U I log del {box} rimangono [{=+# giorni sulla macchina}], in tal modo [il garante non deve firmare].
? Quanto teniamo le tracce del {box}?
M Bene, allora [{kin} prende la stanza {room:di sopra|sul giardino|d'angolo|azzurra}], ha senso visto che
  [{instrument:la batteria|la tromba|il violoncello} lì non disturba].
? Chi dorme nella stanza {room}?
M Conclusione: [la {prog} esce senza {feat:tema scuro|modalità offline|profili|notifiche}], con la motivazione che [la
  userebbe il {=^} per cento].
? Cosa è stato tolto dalla {prog}?
M Hai scelto [l'abbonamento {plan:mensile|famiglia|giovani|flessibile} del treno], con l'argomento che [{kin} viaggia
  {=^} volte a settimana].
? Perché quel biglietto ({plan})?
"""

RULE = """
U Il {vet} non deve assaggiare [nemmeno una briciola di {treat:uva|cipolla|cioccolato|avocado}], [il fegato è già
  debole].
? Quale cibo è veleno per il {vet}?
U Giù le mani [dal {box} mentre presenta {kin}], l'altra volta [si è spento il palco].
? Quando lasciamo stare il {box}?
U Preferirei che non [riproponessi {lib} per la {prog}], il gruppo [ha votato contro per {=^} a uno].
? Che strumento non tirare più fuori con la {prog}?
U Succeda quel che succeda, [{secret:la gravidanza|il nuovo lavoro|la diagnosi|il fidanzamento} di {kin} non si
  racconta] fino [alla festa di {season}].
? Cosa teniamo nascosto di {kin}?
U Le foto {kids:dei piccoli|del coro|degli scout|della squadra} non vanno [in nessun posto pubblico], i genitori [hanno
  firmato solo per il libretto].
? Cosa non è permesso con le immagini {kids}?
M È bene non [aprire l'{hive} sotto i {=1# gradi}], perché [la covata si raffredda in minuti].
? Con che tempo l'{hive} resta chiusa?
M Guardati dal [passare due volte l'importatore della {prog} su {unit:lo stesso giorno|la stessa cartella|lo stesso
  lotto}], dato che [i totali si sommano].
? Cosa non ripetere con la {prog}?
M Non è ammesso [trainare {trailer:un van|una barca|un rimorchio|un cippatore} con la {car}], [regge solo {=^##} chili].
? Cosa non può tirare la {car}?
"""

TASK = """
U {kin} aspetta da me [{doc:la disposizione dei tavoli|la scaletta|la lista degli invitati|il bilancio}], roba che deve
  [partire {when}].
? Cosa attende {kin}?
U Ho promesso di [portare la {car} alla revisione] [finché l'officina ha posto a {season}].
? Quale controllo tocca alla {car}?
U Ci sarebbe anche [il certificato della {prog} da prorogare], [scade {when}].
? Cosa perde validità nella {prog}?
U Mi scordo sempre di [ordinare {=^#} telaini per l'{hive}], [il fornitore chiude a {season}].
? Che materiale non ha l'{hive}?
U Sul mio tavolo per {when}: [spostare la configurazione {lib} del {box}] e [cancellare il vecchio ramo].
? Quale migrazione del {box} spetta a me?
M Ti resta quindi [il discorso per {kin}], [di {=^} minuti al massimo].
? Quale testo per {kin} non esiste?
M È rimasta in sospeso [la faccenda {feat:del tema scuro|dei profili|delle notifiche} della {prog}], [si riprende
  {when}].
? Quale tema della {prog} è fermo?
M Ti toccherà [iscrivere il {vet} alla pensione] [prima del viaggio di {season}].
? Cosa si organizza per il {vet} prima di partire?
"""

REJECTED = """
U Ci è passata la voglia [{venue:del frutteto|del municipio|della darsena|del birrificio} per la {gig}], pare che [alle
  {=2#} spengano la musica].
? Cosa non andava per la {gig} ({venue})?
U {lib} ingolosiva per la {prog}, ma [ho mollato {lib}] dopo [{=^# bachi in un pomeriggio}].
? Perché la {prog} non usa {lib}?
U Mia madre voleva che [{kin} studiasse a {city:Pavia|Trento|Coimbra|Lione}] e abbiamo detto no, [la stanza sta a
  {=+##} euro].
? Perché {kin} non va a {city}?
U A nessuno piaceva [la divisa {colour:senape|petrolio|prugna|ruggine} per la {gig}], [sembriamo {chain:una banca|una
  compagnia aerea|una paninoteca}].
? Che ne diciamo dei vestiti {colour}?
U Ho accarezzato l'idea di [dare il {box} a una ditta], e no, [vogliono {=^# euro per disco al mese}].
? Perché non paghiamo nessuno per il {box}?
M Avete detto no [{breed:al siamese|al collie|al parrocchetto|al coniglio} del rifugio], giacché [{kin} ci starnutisce
  accanto].
? Quale animale non è arrivato per via di {kin}?
M [{lib} dentro il {box}] è caduto, con la motivazione che [mangia {=^} GB da fermo].
? Cosa era troppo vorace per il {box}?
M Anziché [il giro {route:del canale|della costa|della brughiera|della valle} col {vet}], cercatene un altro, ci sono
  [{=^# staccionate da scavalcare}].
? Perché non passeggiare lì col {vet} ({route})?
"""

UPDATE = """
U *{kin}* atterra *{when}* alle [{=1#.~5}], sarò lì con un cartello ridicolo.
+ Il volo di *{kin}* è in ritardo, *{when}* conta sulle [{=2#.~5}] allo stesso terminal.
? In che momento prendo {kin} in aeroporto?
U La *{prog}* trattiene i *cookie* per [{=+# giorni}], mai una lamentela.
+ I legali si sono svegliati: i *cookie* della *{prog}* vivono [{=+# giorni}] al massimo.
? Quanto dura l'accesso alla {prog}?
U Il posto *{fair:alla fiera di primavera|al mercato notturno|al salone del libro|alla sagra}* ci viene [{=+## €}],
  corrente inclusa.
+ C'è un nuovo listino *{fair}*, da noi pretendono [{=+## €}].
? Quanto si paga per stare {fair}?
U Il *wifi* {place:del fienile|della chiatta|del monolocale|del circolo} si apre con [{=???##???}], tutto minuscolo.
+ Qualcuno ha resettato il router, il *wifi* {place} vuole [{=???##???}] in questi giorni.
? Come mi collego {place}?
U Alla *{gig}* facciamo sedere [{=5# invitati}], stretti ma si può.
+ Dopo le risposte del weekend la *{gig}* sale a [{=8# invitati}], aiuto.
? Quante sedie per la {gig}?
U Al *{box}* ho dato [{=1# GB}] di *memoria*, la scheda non ne regge altri.
+ È spuntato un banco in un cassetto, il *{box}* ha [{=3# GB}] di *memoria* da ieri sera.
? Quanta RAM c'è nel {box}?
M Da quanto dici, la *{prog}* ha finora [{=^}.{=+## euro}] per l'*hosting*.
+ Visto il taglio, all'*hosting* della *{prog}* toccano [{=^}.{=+## euro}] e non un centesimo oltre.
? Quanto può costare il server della {prog}?
M Con quel peso il *{vet}* dovrebbe prendere [{=1## ml}] di *sciroppo* due volte al giorno.
+ Alla luce delle analisi, porta lo *sciroppo* del *{vet}* a [{=^# ml}] due volte al giorno.
? Che dose prende il {vet}?
"""

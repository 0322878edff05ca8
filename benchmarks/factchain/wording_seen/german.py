"""German facts of the seen profile: the author of the extractor may look at failures here."""

SLOTS = """
who: Hannah, Jonas, Lena, Paul, Greta, Emil, Frieda, Anton, Marie, Karl, Ida, Moritz
first: Ute, Bernd, Sabine, Holger, Petra, Jürgen, Silke, Rainer, Birgit, Detlef, Kerstin, Volker
last: Ahlers, Brandstetter, Dornberg, Eichholz, Fassbender, Grabowski, Hollmann, Kirchhoff, Lindemann, Mühlbauer,
  Reinders
day: Montag, Dienstag, Mittwoch, Donnerstag, Freitag, Samstag
month: März, April, Mai, Juni, September, Oktober, November
shop: Hagebau, Baumgart, Holz-Krämer, Fliesen-Ott, Leitermann, Wohnwelt
town: Bad Orb, Wernigerode, Füssen, Husum, Bamberg, Überlingen
env: Staging, Produktion, Testsystem, Demo
plant: Tomaten, Zucchini, Himbeeren, Dahlien, Stangenbohnen, Johannisbeeren
part: Wiederholungen, Sperren, Zwischenspeicherung, Seitenaufteilung
bug: Anmeldeschleife, Speicherleck, leere Seite, doppelte Mail
damage: Wasserschaden, Sturmschaden, Hagelschaden, Fahrraddiebstahl
club: Ruderverein, Schachclub, Tennisclub, Kirchenchor
"""

LABELS = """
decision: Entscheidung, Entschieden, Beschluss
rule: Regel, Wichtig, Hausregel
task: Aufgabe, Offen, Noch zu tun
other: Notiz, Merken, Zur Erinnerung
"""

LEADS = """
Ach ja,
Übrigens,
Und noch was am Rande,
Was ich noch erzählen wollte,
Jedenfalls,
"""

NUMBER = """
U Der *Kessel* {house:im Keller|in der Ferienwohnung|in der Werkstatt|im Anbau} läuft nur bei [1,{=#} bar] ruhig,
  darüber fängt das Ventil an zu tropfen.
? Welchen Druck mag die Heizung {house}?
U Die Physiotherapeutin will, dass *{who}* die *{move:Planke|Brücke|Dehnung|Kniebeuge}* [{=+#} Sekunden] hält, und zwar
  dreimal am Tag.
? Wie lange soll {who} bei der Übung {move} durchhalten?
U Das *Zeitlimit* auf *{env}* haben wir auf [{=+##} ms] gesenkt, weil sich davor sonst alles staut.
? Nach welcher Zeit bricht {env} eine Anfrage ab?
U Für das *{bread:Roggenbrot|Sauerteigbrot|Dinkelbrot|Bauernbrot}* habe ich am Ende [{=+##} g] Anstellgut genommen,
  also etwas mehr als im Buch steht.
? Welche Menge Sauerteig kommt in das {bread}?
U Die Nische für *{furn:den Kühlschrank|die Waschmaschine|das Regal|den Schrank}* ist genau [1{=##},{=#} cm] breit, ich
  habe zweimal gemessen.
? Wie viel Platz ist da, wo {furn} hin soll?
M Bei einem Beet dieser Größe brauchen *{plant}* etwa [{=+#} cm] Abstand zueinander.
? Wie weit auseinander pflanzt man {plant}?
M Mit der jetzigen Rate liegen auf dem *{pot:Urlaubskonto|Dachkonto|Klassenkonto|Autokonto}* bis zum Frühling rund
  [{=+}.{=+##} Euro].
? Welche Summe kommt auf dem {pot} zusammen?
M Ich würde dem Dienst *{svc}* einen *Pool* von [{=+#} Verbindungen] geben, dann bleibt nachts noch Luft.
? Wie viele Datenbankzugänge waren für {svc} empfohlen?
"""

PATH = """
U Der Rundungsfehler steckt in [src/{mod}/{file}.py:{=+##}], da wird die *{kind:Rechnung|Gutschrift|Mahnung|Lieferung}*
  vor der Steuer abgeschnitten.
? An welcher Stelle im Code stimmt der Betrag der {kind} nicht?
U Den Scan vom *{doc:Mietvertrag|Reisepass|Impfpass|Kaufvertrag}* habe ich unter
  [~/Dokumente/{folder}/scan-{=####}.pdf] abgelegt, das Papier liegt bei meiner Mutter.
? Wo ist auf meinem Rechner die digitale Kopie: {doc}?
U Der wacklige Test für *{feat:Uploads|Gutscheine|Passwörter|Exporte}* ist [tests/{mod}/test_{file}.py:{=+#}], der
  fällt bei jedem zehnten Lauf um.
? Welche unzuverlässige Prüfung gibt es zu {feat}?
U Die Bilder von *{event:der Hochzeit|der Taufe|dem Tauchkurs|der Einschulung}* liegen jetzt in
  [/mnt/nas/fotos/{folder}_{=20##}], gleich neben den alten Videos.
? In welchem Ordner auf dem Netzlaufwerk finde ich die Aufnahmen von {event}?
U Das Kassenbuch vom *{club}* ist [ablage/{folder}/kasse-{=####}.ods], da darf nur die Kassenwartin hineinschreiben.
? In welcher Tabelle stehen die Finanzen: {club}?
M Die Stelle mit den *{part}* beginnt in [internal/{mod}/{file}.go:{=+##}], dort würde ich den Haltepunkt setzen.
? In welcher Quelltextzeile fangen die {part} an?
M Die Packliste für *{trip:Lissabon|Korsika|die Dolomiten|Dublin}* steht in [listen/{folder}-{=###}.md], die
  Medikamente ganz oben.
? In welcher Datei ist, was wir nach {trip} mitnehmen?
M Die kaputte Migration der Tabelle *{table:kunden|buchungen|zahlungen|bestand}* ist
  [db/migrate/{=0###}_{file}.sql:{=+#}], ihr fehlt ein Vorgabewert.
? Welche Datenbankänderung macht {table} kaputt?
"""

ID = """
U *{item:Die Spülmaschine|Das Lastenrad|Das Schlafsofa|Die Wärmepumpe}* läuft unter der Bestellnummer [{=@@-######}],
  falls die Hotline danach fragt.
? Welches Kaufzeichen gehört zu: {item}?
U Nach dem Eingrenzen taucht der Fehler *{bug}* zum ersten Mal in Commit [{=%%%%%%%%}] auf, der ist vom letzten Monat.
? Welche Revision hat uns das eingebrockt: {bug}?
U Auf dem neuen *Bibliotheksausweis* von *{who}* steht [{=#### #### ##}], der alte liegt wohl im Bus.
? Wie lautet die Nummer, mit der {who} Bücher ausleiht?
U Unser Buchungscode für *{leg:die Fähre|den Nachtzug|den Mietwagen|den Campingplatz}* lautet [{=@@#@##}], sie wollen
  dazu noch einen Ausweis sehen.
? Unter welcher Reservierung haben wir {leg}?
U Der *{damage}* wird bei der Versicherung unter [{=+#-####-####}] geführt, in zwei Wochen soll Antwort kommen.
? Welches Aktenzeichen hat der {damage}?
M Der Auszug, den du geschickt hast, gehört zur Anfrage [req_{=%%%%%%%%%%}], bei der *{svc}* doppelt geantwortet hat.
? Welcher Aufruf war das, den {svc} zweimal bedient hat?
M Auf deinem Foto hat *{dev:der Router|der Drucker|das Thermostat|der Backofen}* die Seriennummer [{=@#@@####}], damit
  ist noch Garantie drauf.
? Was steht auf dem Typenschild: {dev}?
M Laut Sperrdatei lief auf *{env}* zuletzt das Abbild [sha256:{=%%%%%%%%%%%%}], und damit ging es noch.
? Mit welchem Stand war {env} noch in Ordnung?
"""

URL = """
U Die Lehrerin von *{who}* stellt die Hausaufgaben auf [https://{site}.org/klasse/{=#??#}] ein, ganz ohne Kennwort.
? Wo sehe ich nach, was {who} für die Schule machen muss?
U Die Fotos vom *{event2:Sommerfest|Dorffest|Vereinsausflug|Stadtlauf}* gibt es unter [https://{site}.net/a/{=????##}],
  aber nur noch einen Monat lang.
? Wie war die Adresse des Albums: {event2}?
U Die *Übersicht* mit den Kurven von *{env}* ist unter [https://{site}.io/d/{=%%%%%%}] zu finden, du brauchst das VPN.
? Wo kann ich mir die Messwerte von {env} ansehen?
U *{part2:Die Scharniere|Die Fugenmasse|Die Dachziegel|Den Mischer}* habe ich bei [https://{site}.de/shop/{=#####}]
  bestellt, ab fünfzig Euro kostet der Versand nichts.
? Welcher Laden im Netz war das für: {part2}?
U Zum Fehler *{bug}* steht alles mit Bildern in [https://{site}.dev/issues/{=+###}], lies am besten zuerst den letzten
  Kommentar.
? In welchem Ticket ist das beschrieben: {bug}?
M Den amtlichen Vordruck für *{matter:die Ummeldung|den Parkausweis|die Hundesteuer|das Kindergeld}* gibt es auf
  [https://{site}.de/f/{=@#-###}], das dauert zehn Minuten.
? Auf welcher Seite beantragt man {matter}?
M Eine gute Anleitung zu *{topic:Feature-Schaltern|Verbindungspools|Drosselung|Ausrollen in Stufen}* liegt auf
  [https://{site}.io/guide/{=###}], mit Schaubildern.
? Welchen Lehrtext hattest du mir zu {topic} genannt?
M Mein Rezept für *{cake:Rhabarberkuchen|Kartoffelsuppe|Käsespätzle|Linseneintopf}* stammt von
  [https://{site}.com/r/{=####}], nur mit halb so viel Salz.
? Welche Quelle hat dein {cake}?
"""

PERSON = """
U Der *{trade:Klempner|Elektriker|Fliesenleger|Dachdecker}*, der bei den Nachbarn war, heißt [{first} {last}] und
  antwortet nur auf Textnachrichten.
? Wie heißt der {trade} von nebenan?
U Bei *{who}* unterrichtet jetzt [{first} {last}] die *{subj:Geige|Mathematik|Französischgruppe|Schwimmstunde}*, sehr
  ruhig und mit viel Geduld.
? Wer gibt {who} die Stunden ({subj})?
U Im Team *{team:Zahlungen|Mobil|Daten|Plattform}* ist es [{first} {last}], wer die Freigaben macht, sogar im Urlaub.
? Welche Person gibt grünes Licht, wenn {team} etwas ausliefert?
U Auf der Bank kümmert sich [{first} {last}] um *{deal:den Hauskredit|den Bausparvertrag|das Depot|das
  Gemeinschaftskonto}* und möchte am Vormittag angerufen werden.
? Bei wem melde ich mich wegen {deal}?
U *{thing:Das Klavier|Den Wohnwagen|Den Rasenmäher|Das Gitterbett}* bekommt [{first} {last}] und holt es am Wochenende
  mit dem Hänger.
? An wen geben wir das ab: {thing}?
M Der Historie nach hat [{first} {last}] das meiste an den *{part}* geschrieben, da würde ich nachfragen.
? Wer kennt sich mit den {part} am besten aus?
M Im Protokoll vom *{club}* steht [{first} {last}] als neue Kassenführung, gewählt mit einer Stimme Vorsprung.
? Wer verwaltet das Geld im {club}?
M Das Schreiben zum *{damage}*, das du kopiert hast, hat [{first} {last}] unterschrieben, dorthin sollte auch die
  Antwort.
? Wer hat uns von der Versicherung geschrieben ({damage})?
"""

DECISION = """
U Wir nehmen jetzt doch [die Arbeitsplatte aus {wood:Eiche|Nussbaum|Buche|Esche} von {shop}], vor allem weil [man sie
  wieder abschleifen kann].
? Warum haben wir uns in der Küche für {wood} entschieden?
U Nach dem langen Gespräch setzen wir auf [{tech} für die Warteschlange von {svc}], denn [{=^} von uns haben das schon
  betrieben].
? Was trägt künftig die Nachrichten von {svc}, und weshalb?
U Die Kinder haben abgestimmt: in den {hol:Herbstferien|Winterferien|Osterferien|Pfingstferien} geht es [an den See bei
  {town}], weil [der Zug keine {=^} Stunden braucht].
? Wohin reisen wir in den {hol}?
U Ich lasse [{who} im {month} am Knie operieren], da [die Warteliste dann am kürzesten ist].
? Wann ist der Eingriff bei {who}, und warum dann?
U Der Code von {svc} bleibt [in einem Repository mit der {tool:Handy-App|Verwaltung|Partnerseite|Kassen-App}], damit
  [eine Freigabe ein einziges Tag ist].
? Wie wird {svc} zusammen mit der {tool} gehalten?
M Ihr habt euch also darauf festgelegt, [die Tabellen von {svc} nach {dim:Mandant|Region|Kunde|Monat} aufzuteilen],
  weil [so jeder Index unter {=+#} GB bleibt].
? Wie ist die Partitionierung bei {svc} gedacht?
M Dann kommen [die {plant} in diesem Jahr ins {side:Südbeet|Nordbeet|Ostbeet|Westbeet}], denn [dort scheint die Sonne
  {=^} Stunden].
? Was wächst im {side}, und aus welchem Grund?
M Wie besprochen geht [das Geld für {pot:den Urlaub|das Dach|die Schule|das Rad} auf das
  {bank:Tagesgeldkonto|Sparbuch}], weil [es bis {month} {=+},{=#} Prozent bringt].
? Wo parken wir die Rücklage für {pot}?
"""

RULE = """
U Gib {who} bitte niemals [etwas mit {food:Haselnüssen|Krabben|Laktose|Sesam}], beim letzten Mal [saßen wir in der
  Notaufnahme].
? Was verträgt {who} nicht?
U Bitte [{svc} nicht am {day} nach {=1^} Uhr ausrollen], [da hat niemand Bereitschaft].
? Wann ist bei {svc} eine Auslieferung untersagt?
U Auf keinen Fall darf [{env} aus der Sicherung vom {day} zurückgespielt werden], da [sind noch echte Kundendaten drin].
? Welches Backup ist für {env} tabu?
U An [die Steckdose {room:im Flur|in der Küche|auf dem Boden|in der Garage} kommt nichts dran], solange [der
  {dev:Ofen|Trockner|Brennofen|Kompressor} läuft].
? Was lassen wir mit dem Anschluss {room} bleiben?
U In Nachrichten an {who} will ich [kein Wort über {topic:das Erbe|die alte Wohnung|die Rechnung|das Auto}], sonst
  [geht der Streit von vorne los].
? Worüber schweigen wir gegenüber {who}?
M [{cleaner:Rohrreiniger|Chlorreiniger|Kalklöser|WC-Gel} und Essig gehören nie zusammen], denn [die Dämpfe sind giftig].
? Was ist gefährlich bei {cleaner}?
M Schreib [{field:das Geburtsdatum|die Kartennummer|die Anschrift|die Steuernummer} von Kunden nicht ins Log], die
  Prüfer [werten das als Verstoß].
? Was gilt beim Protokollieren für {field}?
M [{bush:Den Kirschbaum|Den Flieder|Die Hortensie|Die Magnolie} im {month} nicht schneiden], weil [da schon die Knospen
  sitzen].
? Wann bleibt die Schere weg: {bush}?
"""

TASK = """
U Ich muss noch [{office:im Rathaus|beim Vermieter|bei der Kasse|im Kindergarten} wegen {who} anrufen], [am besten bis
  {day}mittag].
? Welches Telefonat steht wegen {who} aus?
U Irgendwer muss [den Signaturschlüssel von {svc} tauschen], und zwar [spätestens am {=2+}.].
? Was ist bei {svc} zu erneuern, und bis wann?
U Sobald die Farbe trocken ist, will ich [die Fußleisten {room:im Flur|im Kinderzimmer|im Büro|auf dem Boden} wieder
  anbringen], [vermutlich am {day}].
? Welche Holzarbeit fehlt {room}?
U Wir haben es noch nicht geschafft, [{who} {thing:die Leiter|den Anhänger|das Zelt|die Bohrmaschine} zurückzubringen],
  [am {day} wird das Teil gebraucht].
? Was schulden wir {who}?
U Bei mir liegt noch [der Lasttest für {svc}], den ich [am {day} im Team zeigen soll].
? Welche Messung rund um {svc} wird vorgeführt?
M Es fehlt weiterhin [die Prüfung in {file} für {env}], die du [bis {day} einbauen wolltest].
? Was hattest du für {env} vor?
M Du wolltest außerdem [{who} nach {item:dem Ersatzschlüssel|dem Kindersitz|dem Gästebett|dem Grill} fragen], [wenn ihr
  euch am {day} seht].
? Welche Frage ist für {who} gedacht?
M Auf der Liste ist noch offen: [{=+#} Liter {stuff:Farbe|Blumenerde|Lack|Dünger} bestellen], [bei {shop} bis {day}].
? Welcher Vorrat an {stuff} wird gekauft?
"""

REJECTED = """
U [Die Markise von {brand:Solero|Markant|Veltura|Nordlicht}] haben wir uns angesehen und wieder gestrichen, [die
  klappert bei jedem Windstoß].
? Was spricht gegen den Sonnenschutz von {brand}?
U Eine Woche lang lief [{tech} als Zwischenspeicher für {svc}], ich habe es wieder ausgebaut, denn [{=+#} Schlüssel
  waren nach jedem Neustart weg].
? Welcher Speicher hat sich bei {svc} nicht bewährt?
U Die Idee mit [dem Geburtstag von {who} {place:in der Kletterhalle|auf dem Bauernhof|im Schwimmbad|im Museum}] ist vom
  Tisch, [bis {month} ist alles ausgebucht].
? Warum feiert {who} nicht {place}?
U Über [einen Umzug nach {town}] haben wir nachgedacht und ihn verworfen, [{=+#} Minuten Fahrt sind uns zu viel].
? Weshalb ist {town} nicht unser Zuhause geworden?
U {who} hatte [{fw:GraphQL|gRPC|Websockets|einen Nachrichtenbus} für {svc}] vorgeschlagen, das machen wir aber nicht,
  [weil ein zweites Gateway nötig wäre].
? Was wurde aus dem Vorschlag von {who} zu {svc}?
M Damit scheidet [die {way:Küstenstraße|Nachtfähre|Passstraße|Bahnfahrt} nach {town}] aus, sie [kostet {=+#} Euro mehr].
? Welcher Weg nach {town} kommt nicht infrage?
M Auf [die {kind:Keto|Rohkost|Saft|Kohl}-Diät] würde ich nicht zurückkommen, die hat deine Ärztin [wegen des
  Nierenwerts von {=+#} ausgeschlossen].
? Warum ist {kind} als Ernährung nichts für mich?
M Ausgeschlossen haben wir [das Zerlegen von {svc} nach {dim:Hash|Datum|Land|Nutzer}], weil [die Berichte {=^} Teile
  verbinden].
? Was wurde beim Skalieren von {svc} abgelehnt?
"""

UPDATE = """
U *{who}* hat am {day} um [{=1#:~5} Uhr] einen Termin *{appt:beim Zahnarzt|beim Augenarzt|zum Impfen|beim Friseur}*,
  ich fahre.
+ Die Praxis hat angerufen, der Termin von *{who}* *{appt}* musste verlegt werden, jetzt ist er um [{=1#:~5} Uhr].
? Wann muss {who} dort sein ({appt})?
U Der Dienst *{svc}* läuft gerade mit einem *Zeitlimit* von [{=+#} Sekunden], was mir großzügig vorkommt.
+ Das *Zeitlimit* von *{svc}* habe ich heute geändert, es sind nur noch [{=+#} Sekunden].
? Wie lange darf {svc} brauchen, bevor abgebrochen wird?
U Die *Miete* für *{flat:die Wohnung am Markt|die Garage|das Atelier|den Lagerraum}* beträgt [{=+##} Euro] im Monat,
  ohne Heizung.
+ Sie haben erhöht, *{flat}* kostet ab dem nächsten Monat [{=+##} Euro] *Miete*.
? Was zahlen wir für {flat}?
U *{who}* hat *Schuhgröße* [{=3#,5}], falls jemand wegen eines Geschenks fragt.
+ *{who}* ist schon wieder gewachsen und braucht seit dieser Woche *Schuhgröße* [{=4~,5}].
? Welche Schuhe passen {who}?
U Der *Türcode* {place:vom Bootshaus|der Ferienwohnung|vom Probenraum|vom Schrebergarten} ist [{=+###}], behalt ihn
  bitte für dich.
+ Sie haben den *Türcode* {place} gewechselt, man kommt mit [{=+###}] hinein.
? Was tippe ich am Eingang ein ({place})?
U Für den Abend im *{club}* haben wir bisher [{=1#} Leute] auf der Liste, die zwei von nebenan eingerechnet.
+ Zwei haben abgesagt und eine kommt dazu, beim *{club}* sind wir also Stand heute [{=2#} Leute].
? Wie viele Gäste kommen zum {club}?
M Nach dem Angebot von *{shop}* würden *{work:die Fenster|die Treppen|die Fliesen|die Dielen}* zusammen [{=+}.{=+##}
  Euro] kosten.
+ Nach dem berichtigten Angebot von *{shop}* liegen *{work}* bei [{=+}.{=+##} Euro], die alte Summe gilt nicht mehr.
? Welchen Preis nennt {shop} für {work}?
M Die nächtliche *Sicherung* von *{svc}* sollte um [{=+:~5} Uhr] beginnen, direkt nach dem Import.
+ Weil der Import inzwischen länger dauert, lass die *Sicherung* von *{svc}* lieber um [{=+:~5} Uhr] beginnen.
? Um welche Zeit wird {svc} gesichert?
"""

"""German facts of the unseen profile; the extractor's author never sees them or their failures."""

SLOTS = """
kin: Wiebke, Cem, Svenja, Matteo, Ronja, Tarek, Nele, Fiete, Aylin, Korbinian, Malin, Jaro
given: Adelheid, Burkhard, Cosima, Diethelm, Elfriede, Gernot, Hedwig, Ingomar, Leopold, Mechthild, Ottilie, Wendelin
family: Achterberg, Birnstiel, Czerny, Drosselmeier, Fuhrhop, Hartenfels, Iversen, Knispel, Oberhauser, Petersen,
  Quast, Zwingmann
when: am kommenden Montag, Dienstag früh, Mittwochabend, Donnerstag nach der Schule, Freitag gegen Abend, am Sonntag
season: Ende Januar, Mitte Februar, Anfang Juli, August, Dezember
vet: Dackel, Hamster, Kater, Wellensittich
gig: Hochzeit, Vernissage, Kirmes, Gala
hive: Nordvolk, Jungvolk, Reservevolk, Volk am Schuppen
car: Kombi, Campingbus, Roller, Lieferwagen
box: Medienserver, Bauknecht-Rechner, Gewächshaus-Pi, k3s-Cluster
prog: Rezept-App, Fotosammlung, Wetterstation, Quizseite
"""

LABELS = """
decision: Abgemacht, Entscheidung, Fix
rule: Achtung, Vorgabe, Grundsatz
task: To-do, Nicht vergessen, Steht noch aus
other: Merk dir, Zum Merken, Fürs Protokoll
"""

LEADS = """
Also,
Nebenbei gesagt,
Tja,
Außerdem,
Wo ich gerade dabei bin,
Kurioserweise:
"""

NUMBER = """
U Beladen braucht der *{car}* laut Werkstatt vorne [{=^,#} bar], das hat mir der Meister auf den Reifen geschrieben.
? Wie prall müssen die Räder am {car} sein?
U [{=+#,#} Kilo] zeigt die Waage beim *{vet}*, deshalb wird die Dosis halbiert.
? Was wiegt der {vet} im Moment?
U Gestern Abend habe ich das *{hive}* gewogen und kam mit Honigraum auf [{=^#,#} kg], mehr als gedacht.
? Wie schwer war das {hive}?
U Für die *{gig}* ruft der Caterer [{=+}.{=+##} €] auf, und da sind die Getränke nicht drin.
? Was würde das Essen bei der {gig} kosten?
U Auf meinem uralten Handy startet die *{prog}* inzwischen in [{=+##} Millisekunden].
? Wie schnell ist die {prog} beim Öffnen?
U Vom *{cloth:blauen Leinen|grünen Samt|Streifenstoff|grauen Filz}* haben sie nur noch [{=+#,#} Meter] da, Nachschub
  kommt keiner.
? Wie viel ist vom {cloth} übrig?
M Mehr als [{=+## Datensätze}] auf einmal würde ich die *{prog}* nicht schicken lassen, das Kontingent ist knapp.
? Welche Paketgröße war dein Rat für die {prog}?
M Bei der Beinlänge von *{kin}* ist ein Sattel [{=^# cm}] über dem Pedal ein brauchbarer Anfang.
? Wie hoch stellt man {kin} das Rad ein?
"""

PATH = """
U Falls du die Stelle suchst, an der die *{prog}* den Fehler verschluckt: [lib/{pkg}/{src}.ts:{=+##}], gut versteckt.
? Wo geht die Ausnahme in der {prog} verloren?
U Meine Noten für die *{gig}* sind als [/home/gemeinsam/{dir}/satz-{=+##}.musx] gespeichert, die Ausdrucke liegen im
  Klavierhocker.
? In welcher Datei ist, was wir auf der {gig} spielen?
U Unter Windows schreibt die *{prog}* ihren Absturz nach [C:\\Temp\\{dir}\\dump_{=####}.dmp], jedenfalls bei mir.
? Wo finde ich, was die {prog} beim Sterben hinterlässt?
U Den Impfbogen von *{kin}* habe ich leicht verwackelt als [~/Dropbox/{dir}/{kin}_{=####}.jpeg] abgelegt.
? Unter welchem Namen liegt der Nachweis von {kin}?
U Der *{box}* liest seine Einstellungen aus [/etc/{pkg}/{src}-{=##}.toml], egal was im Wiki behauptet wird.
? Woher holt sich der {box} die Konfiguration?
M Der eigentliche *{smell:Wettlauf|Zählfehler|Deadlock|Überlauf}* entsteht in [pkg/{pkg}/{src}.rs:{=+##}], alles andere
  ist nur die Folge.
? An welcher Stelle im Quelltext entspringt der {smell}?
M Den Grundriss *{place:der Scheune|des Hausboots|des Vereinsheims|der Laube}* hattest du neulich als
  [plaene/{dir}/v{=##}.svg] gesichert.
? Welche Zeichnung zeigt die Räume {place}?
M Zu lesen anfangen würde ich in [notebooks/{dir}/{src}_{=##}.ipynb], dort entstehen die Kurven zu
  *{chart:Niederschlag|Latenz|Pollenflug|Kündigungen}*.
? Wo werden die Grafiken für {chart} gezeichnet?
"""

ID = """
U *{kin}* hat ein neues Handy und ist jetzt unter [01{=5# #######}] zu erreichen, die alte Karte liegt in der Schublade.
? Wie rufe ich {kin} an?
U Wenn du wegen dem *{car}* anrufst, nenn gleich die Fahrgestellnummer [{=@@@##@##@######}], sonst schauen die gar
  nicht nach.
? Welche Kennung hat der {car}?
U Versichert ist *{gear:das Mischpult|das Schlagzeug|das Keyboard|der Bassverstärker}* unter der Police
  [{=@@/####/##}], den Brief habe ich endlich gefunden.
? Welcher Vertrag deckt ab: {gear}?
U An dem Abend, als alles schiefging, haben wir den *{box}* auf [v{=+}.{=#}.{=##}-g{=%%%%%%%}] zurückgedreht.
? Welcher Stand kam zurück auf den {box}?
U Der Chip vom *{vet}* hat die [{=9########}{=######}], habe ich vom Lesegerät abgeschrieben.
? An welchen Ziffern erkennt man den {vet}, wenn er wegläuft?
M Die Fehlerkennung der *{prog}* auf deinem Bild lautet [{=%%%%%%%%-%%%%-4%%%}], die will der Support haben.
? Was gebe ich beim Kundendienst zur {prog} an?
M *{film:Der Krimi|Das Kochbuch|Der Wanderführer|Der Bildband}* hat die ISBN [978-{=#-####-####-#}], die meisten
  Büchereien besorgen das.
? Mit welcher Buchnummer bestelle ich: {film}?
M In der Sendung [{=@@#########@@}] steckt das Geschenk für *{kin}*, wenn ich die kopierte Mail richtig lese.
? Wie verfolge ich das Paket mit der Überraschung ({kin})?
"""

URL = """
U Zur *{gig}* melden sich alle über [https://{host}.events/zusage/{=??##??}] an, sogar meine Tante.
? Wo bestätigen die Gäste der {gig}?
U Erst [https://docs.{host}.app/{=+##}/{src}] hat mir den *{box}* wirklich erklärt.
? Durch welchen Artikel wurde der {box} verständlich?
U *{kin}* überträgt die Proben, und zwar unter [https://{host}.tv/live/{=??????}], ein Konto braucht man nicht.
? Wo kann man {kin} beim Üben zusehen?
U Die Kamera am *{hive}* erreicht man über [http://{host}.local:{=8###}/cam], aber nur im eigenen WLAN.
? Wie schaue ich von zu Hause ins {hive}?
U Den *{car}* habe ich auf [https://{host}.market/inserat/{=########}] angezahlt, zwei Wochen kann ich zurück.
? Wo steht die Anzeige zum {car}?
M Was sich bei *{lib}* ändert, steht auf [https://{host}.dev/{=####}/notes], das Wichtige ganz unten.
? Wo gibt es die Versionshinweise von {lib}?
M Verlängern kannst du *{permit:den Angelschein|die Strandhütte|den Marktstand|den Drohnenschein}* auf
  [https://antrag.{host}.de/{=@@-##}], bevor die Frist um ist.
? Über welche Seite behalte ich {permit}?
M Die Griffe *{song:zur Zugabe|zum Wiegenlied|zum ersten Stück|zum Walzer}* sind auf
  [https://{host}.band/tabs/{=+####}] notiert, Kapodaster im zweiten Bund.
? Auf welcher Seite sind die Akkorde {song}?
"""

PERSON = """
U Auf der *{gig}* spielt [{given} {family}] Akkordeon, die Anzahlung ist raus.
? Welche Musik ist für die {gig} engagiert?
U Der *{vet}* wird operiert, das Skalpell führt [{given} {family}], da bin ich beruhigt.
? Wer macht den Eingriff beim {vet}?
U Wenn nachts am *{box}* etwas ausfällt, hat [{given} {family}] bis zum Frühjahr das Telefon.
? Wen klingeln wir wach, wenn der {box} steht?
U Seit der Umstellung ist [{given} {family}] mein Vorgesetzter in der Abteilung
  *{dept:Werkzeuge|Wachstum|Firmware|Forschung}*.
? An wen berichte ich in {dept}?
U *{kin}* teilt sich die Wohnung mit [{given} {family}], die beiden kennen sich vom Bouldern.
? Mit wem wohnt {kin} zusammen?
M Deinen Beitrag zu *{lib}* hat laut Verlauf [{given} {family}] übernommen.
? Wer hat angenommen, was ich bei {lib} eingereicht habe?
M Frag am Schalter nach [{given} {family}], dort kennt man sich mit *{permit:dem Angelschein|der Strandhütte|dem
  Marktstand|dem Drohnenschein}* aus.
? Welche Sachbearbeitung hilft bei {permit}?
M Auf dem Programmzettel, den du fotografiert hast, leitet [{given} {family}] diesmal *{piece:das Requiem|das
  Oratorium|die Sinfonie|die Messe}*.
? Wer steht am Pult für {piece}?
"""

DECISION = """
U Es wird bei uns [der {colour:senfgelbe|petrolblaue|pflaumenfarbene|rostrote} Bus mit {roof:Aufstelldach|Festdach}],
  den Ausschlag gab, dass [er unter die Schranke mit 2,{=#} m passt].
? Was sprach am Ende für den Bus in der Farbe {colour}?
U Bei der {prog} bleibe ich [bei {lib} statt neu anzufangen], der Grund ist schlicht, dass [{kin} sie bis {season}
  allein pflegt].
? Womit läuft die {prog} weiter, und warum kein Neubau?
U {kin} und ich haben uns geeinigt: [die {gig} steigt {venue:im Obsthof|im Rathaus|im Bootshaus|in der alten
  Brauerei}], damit [{=^#} Leute mit Rollstuhl ohne Treppe reinkommen].
? Welchen Ort hat die {gig} bekommen, und wieso?
U Schluss mit der Diskussion, [das {hive} kriegt {season} eine neue Königin], es hat [{kin} letzte Woche {=^} Mal
  gestochen].
? Was passiert mit dem {hive}?
U Die Protokolle vom {box} bleiben [{=+#} Tage auf dem Gerät], dann muss [der Datenschutz nichts unterschreiben].
? Wie lange wird aufgehoben, was der {box} schreibt?
M Gut, dann bekommt [{kin} das {room:Dachzimmer|Gartenzimmer|Eckzimmer|blaue Zimmer}], das passt, weil [{instrument:das
  Schlagzeug|die Trompete|das Cello} dort keinen stört].
? Wer zieht ins {room} ein, und warum?
M Ergebnis war: [die {prog} erscheint ohne {feat:dunkles Design|Offline-Abgleich|Konten|Mitteilungen}], da es [nur {=^}
  Prozent nutzen würden].
? Was wurde bei der {prog} weggelassen?
M Gewählt hast du [die {plan:Monatskarte|Familienkarte|Studikarte|flexible Karte} für die Bahn], das Argument war:
  [{kin} fährt {=^} Mal pro Woche].
? Weshalb diese Fahrkarte ({plan})?
"""

RULE = """
U Der {vet} darf [keine {treat:Trauben|Zwiebeln|Schokolade|Avocados}] bekommen, nicht mal ein Krümelchen, [die Leber
  ist eh schon schwach].
? Welches Futter ist Gift für {vet}?
U Finger weg [vom {box}, während {kin} vorführt], beim letzten Mal [war die Bühne dunkel].
? Wann bleibt der {box} in Ruhe?
U Schlag mir bitte [{lib} für die {prog} nicht wieder vor], das Team [hat mit {=^} zu eins dagegen gestimmt].
? Welches Werkzeug soll bei der {prog} nicht mehr aufs Tapet?
U Egal was kommt, [{secret:die Schwangerschaft|die neue Stelle|die Diagnose|die Verlobung} von {kin} bleibt unter uns],
  bis [das Fest im {season} war].
? Was wird über {kin} nicht verraten?
U Fotos {kids:der Kleinen|vom Kinderchor|der Pfadfinder|der Mannschaft} gehören [nicht ins Netz], die Eltern haben [nur
  fürs gedruckte Heft unterschrieben].
? Was ist mit Bildern {kids} nicht erlaubt?
M Lass das {hive} [unter {=1#} Grad geschlossen], sonst [kühlt die Brut in Minuten aus].
? Bei welchem Wetter bleibt das {hive} zu?
M Auf gar keinen Fall [zweimal am selben {unit:Tag|Ordner|Stapel|Konto} in die {prog} einlesen], denn [die Summen
  zählen dann doppelt].
? Was soll man mit der {prog} nicht wiederholen?
M Mit dem {car} ist [kein {trailer:Pferdeanhänger|Bootstrailer|Wohnwagen|Häcksler} erlaubt], die Kupplung [trägt bloß
  {=^##} Kilo].
? Was darf der {car} nicht ziehen?
"""

TASK = """
U {kin} wartet bei mir auf [{doc:den Sitzplan|die Liedfolge|die Gästeliste|das Budget}], das sollte [{when} raus].
? Was erwartet {kin} von mir?
U Versprochen habe ich, [den {car} durch den TÜV zu bringen], solange [die Werkstatt {season} Luft hat].
? Welche Vorführung braucht der {car}?
U Dann wäre da [das Zertifikat der {prog} zu verlängern], es [läuft {when} ab].
? Was verfällt bald bei der {prog}?
U Ständig vergesse ich, [{=^#} Rähmchen für das {hive} zu bestellen], der Händler [macht {season} zu].
? Welches Zubehör fehlt dem {hive}?
U Auf meinem Zettel für {when}: [die {lib}-Einstellung vom {box} umziehen] und [den alten Zweig löschen].
? Welcher Umbau am {box} ist meine Sache?
M Damit bleibt für dich [die Rede für {kin}], und zwar [höchstens {=^} Minuten lang].
? Welchen Text für {kin} gibt es bislang nicht?
M Vertagt ist [die Frage nach {feat:dem dunklen Design|dem Offline-Abgleich|den Konten} in der {prog}], weiter geht es
  damit [{when}].
? Welches Thema rund um die {prog} liegt auf Eis?
M Du müsstest [den {vet} in der Pension anmelden], [bevor es {season} losgeht].
? Was ist für {vet} vor der Reise zu regeln?
"""

REJECTED = """
U Von [{venue:dem Obsthof|dem Rathaussaal|dem Bootshaus|der alten Brauerei} für die {gig}] sind wir abgekommen, dort
  [ist um {=2#} Uhr Schluss mit Musik].
? Was passte der {gig} nicht an {venue}?
U {lib} klang für die {prog} verlockend, aber [mit {lib} war für mich Feierabend] nach [{=^#} Fehlern an einem
  Nachmittag].
? Warum steckt in der {prog} kein {lib}?
U Meine Mutter hätte gern gehabt, dass [{kin} in {city:Jena|Konstanz|Groningen|Graz} studiert], wir sagten nein, [ein
  Zimmer kostet da {=+##} Euro].
? Weshalb geht {kin} nicht nach {city}?
U Keiner mochte [die {colour:senfgelben|petrolblauen|pflaumenfarbenen|rostroten} Hemden zur {gig}], [man sieht aus wie
  {chain:eine Bank|ein Reiseveranstalter|eine Imbisskette}].
? Wie fanden alle die Kleidung in {colour}?
U Kurz überlegt hatte ich, [den {box} bei einer Firma zu mieten], und nein, [{=^#} Euro je Platte im Monat sind Wucher].
? Warum bezahlen wir niemanden für den {box}?
M Ihr habt [{breed:die Siamkatze|den Collie|den Sittich|das Kaninchen} aus dem Tierheim] abgelehnt, da [{kin} davon
  niesen muss].
? Welches Tier kam wegen {kin} nicht ins Haus?
M Verworfen wurde [{lib} auf dem {box}], schließlich [frisst es im Leerlauf {=^} GB].
? Was war zu hungrig für den {box}?
M Statt [{route:des Kanalwegs|des Küstenwegs|des Moorwegs|des Talwegs} mit dem {vet}] sucht ihr etwas anderes, dort
  [sind {=^#} Zäune zu überklettern].
? Warum nicht dort spazieren mit {vet} ({route})?
"""

UPDATE = """
U *{kin}* landet *{when}* um [{=1#.~5} Uhr], ich stehe dann mit einem albernen Schild da.
+ Der Flug von *{kin}* hat Verspätung, *{when}* rechne bitte mit [{=2#.~5} Uhr] an derselben Stelle.
? Zu welcher Stunde hole ich {kin} am Flughafen ab?
U Die *{prog}* behält ihre *Cookies* [{=+#} Tage] lang, daran hat sich nie jemand gestört.
+ Die Juristen sind aufgewacht: *Cookies* der *{prog}* leben höchstens [{=+#} Tage].
? Wie lange bleibt man in der {prog} angemeldet?
U Der Stand auf dem *{fair:Frühlingsmarkt|Nachtmarkt|Büchermarkt|Erntemarkt}* kommt uns mit Strom auf [{=+##} €].
+ Es gibt eine neue Preisliste zum *{fair}*, verlangt werden von uns [{=+##} €].
? Was zahlen wir für den Platz am {fair}?
U Das WLAN {place:in der Scheune|im Hausboot|im Vereinsheim|in der Laube} hat als *Kennwort* [{=???##???}], alles klein.
+ Jemand hat den Router zurückgesetzt, *Kennwort* {place} ist neuerdings [{=???##???}].
? Wie komme ich {place} ins Netz?
U Bei der *{gig}* setzen wir [{=5#} Gäste], eng, aber machbar.
+ Nach den Antworten vom Wochenende hat die *{gig}* [{=8#} Gäste], Hilfe.
? Wie viele Stühle braucht die {gig}?
U Dem *{box}* habe ich [{=1# GB}] *Speicher* gegönnt, mehr passt nicht aufs Brett.
+ In der Schublade lag noch ein Riegel, der *{box}* hat seit gestern [{=3# GB}] *Speicher*.
? Wie viel RAM steckt im {box}?
M Für *Hosting* der *{prog}* sind nach deinen Worten bislang [{=^}.{=+##} Euro] vorgesehen.
+ Nach der Kürzung bekommt das *Hosting* der *{prog}* noch [{=^}.{=+##} Euro] und keinen Cent darüber.
? Was darf der Server der {prog} kosten?
M Bei dem Gewicht sollte der *{vet}* zweimal täglich [{=1## ml}] *Saft* bekommen.
+ Nach dem Blutbild den *Saft* vom *{vet}* bitte auf [{=^# ml}] zweimal täglich senken.
? Welche Dosis nimmt der {vet}?
"""

"""German small talk of the seen profile: the text around the facts. None of it is scored."""

TALK = """
Seit {day} regnet es, und die Wäsche wird einfach nicht trocken.
Ich habe schlecht geschlafen, also verzeih mir, wenn das etwas durcheinander klingt.
Die Nachbarn lassen {what:das Dach|die Einfahrt|den Schornstein} machen, und der Lärm beginnt vor sieben.
{who} lässt grüßen, wir haben zusammen {food:Suppe|Pfannkuchen|Klöße|Maultaschen} gegessen und lange geredet.
Den halben Vormittag habe ich meine Brille gesucht, sie saß auf meinem Kopf.
In der Arbeit war heute nicht viel los, die meisten sind noch im Urlaub.
Am Sonntag waren es {=1#}.{=###} Schritte durch {town}, mir tun jetzt noch die Füße weh.
Neben mir steht eine Tasse {drink:Tee|Kaffee|Kakao}, und ich habe etwa eine Stunde Ruhe.
Der neue Bäcker an der Ecke ist ganz gut, nur die Brötchen sind winzig.
Auf der Post standen bestimmt wieder {=+#} Leute vor mir.
Ich frage viel, ich weiß, aber beim Aufschreiben wird mir manches klarer.
Der Zug hatte Verspätung, da habe ich {=+#} Seiten in dem Roman gelesen, den du erwähnt hast.
{who} hat Schnupfen, und bei mir kratzt es auch schon im Hals.
Den Film, von dem alle reden, haben wir endlich gesehen, ich bin in der Mitte eingeschlafen.
Der Build war fast den ganzen Nachmittag rot, meistens wegen der Maschinen.
Ich bin die Protokolle mit dem Brot in der Hand durchgegangen und habe nichts Auffälliges gesehen.
Die Durchsichten dauern im Moment ewig, alle hängen an ihren eigenen Zweigen.
Die Namen in dem Modul finde ich immer noch etwas unglücklich, aber das ist Geschmackssache.
Die Büropflanze hat wieder ein Blatt verloren, jetzt sind es noch {=^}.
Der Garten sieht wild aus, aber den Bienen gefällt es offenbar.
Deinen Tipp mit dem feuchten Tuch habe ich probiert, das ging erstaunlich gut.
Auf dem Heimweg habe ich {who} getroffen, wir hatten uns {=^} Jahre nicht gesehen.
Die Preise sind verrückt, für {small:einen Blumenkohl|ein Glas Oliven|ein Bund Minze} waren es fast {=^} Euro.
Das möchte ich vor dem Wochenende geklärt haben, sonst denke ich ständig daran.
Die Katze hat beschlossen, dass die Umzugskartons ihr gehören.
Eilig ist hier nichts, ich räume nur meine Notizen auf und denke laut.
Es ist so eine Woche, in der alles auf denselben Tag fällt.
Opa hat angerufen und wieder die Geschichte mit {story:der Gans|dem Traktor|dem Koffer} erzählt.
Am {day} bekommen wir Besuch, da muss die Wohnung halbwegs ordentlich sein.
Die Wetter-App hat Sonne versprochen, dann hat es {=1#} Minuten gehagelt.
Ich schiebe das seit Wochen vor mir her und bin froh, dass wir es zusammen angehen.
Von oben kommt Jazz, jemand übt immer dieselben {=^} Takte.
Eigentlich wollte ich laufen gehen, aber das Sofa war stärker.
Die Kaffeemaschine im Büro ist wieder kaputt und die Stimmung auch.
"""

ASK = """
Was meinst du, klingt das vernünftig?
Kannst du mir das ein bisschen ordnen?
Habe ich irgendetwas übersehen?
Wie würdest du das angehen?
Magst du mir zwei, drei Sätze schreiben, die ich {who} schicken kann?
Gibt es einen einfacheren Weg?
Was wäre ein guter nächster Schritt?
Passt das zu dem, was wir vorhin hatten?
Woran könnte das liegen?
Wollen wir es für heute dabei belassen?
"""

REPLY = """
Das klingt vernünftig, ich würde in kleinen Schritten vorgehen.
Danke für die Einzelheiten, damit wird das Bild deutlich klarer.
Mit dem Außenbereich lohnt es sich, auf einen trockenen Tag zu warten.
Meist ist die einfachste Lösung die, die man nach einem Jahr noch versteht.
Ich würde zuerst {who} schreiben, denn alles Weitere hängt von der Antwort ab.
In der Regel gibt es zwei oder drei Wege, und sie unterscheiden sich vor allem im Aufwand.
Mit dem Rest kannst du dir Zeit lassen, da läuft nichts davon.
Eine kurze Nachricht an alle erspart hinterher oft eine lange Diskussion.
Falls es am {day} regnet, machst du eben den Teil drinnen und verlierst nichts.
Bevor du Einstellungen änderst, würde ich die Protokolle um diesen Zeitpunkt ansehen.
Die meisten Programme bieten das an, nur heißen die Menüs überall anders.
Es hilft, das einmal von Hand zu machen, dann siehst du, wo die Zeit bleibt.
Probier es erst an einer kleinen Stichprobe und danach am Ganzen.
Daran stolpern viele, lass dich also nicht entmutigen.
In Zimmern nach Norden wirkt ein warmes Weiß meist freundlicher.
Lass den Teig über Nacht im Kühlschrank ruhen, wenn er an den Händen klebt.
Wie lange das Schleifen dauert, unterschätzen fast alle.
Ein freundlicher Ton wirkt besser als eine lange Liste von Paragraphen.
Wenn du magst, mache ich daraus eine Nachricht.
Die Reihenfolge ist nicht entscheidend, nur das Ausmessen gehört an den Anfang.
Ein Foto vorher schadet nicht, einfach zum Vergleichen.
Klappt der erste Versuch nicht, geht der zweite nach {=^#} Minuten oft gut.
Zu zweit geht es viel schneller als allein.
Das hängt natürlich auch ein wenig von der Jahreszeit ab.
Nach deiner Beschreibung liegt die Ursache eher in den Einstellungen als im Code.
Ein Index hilft hier nur, wenn die Abfrage wirklich nach dieser Spalte filtert.
Die alte Seite darf ruhig noch eine Weile stehen bleiben.
Etwa {=^} von zehn solchen Fällen liegen am Kabel.
Trink genug Wasser und mach zwischendurch eine Pause.
Den Kindern wird die Fahrt vermutlich besser gefallen als das Museum.
In {town} könntest du auch fragen, die hatten letztes Jahr etwas Ähnliches.
Den Ärger verstehe ich, solche Formulare sind nicht für Menschen gemacht.
Soweit ich sehe, hängt sonst nichts daran.
Wenn das erledigt ist, bleibt nur noch Routine.
Lass dir das im Zweifel schriftlich bestätigen.
Beide Varianten sind in Ordnung, nimm die, die sich weniger nach Arbeit anfühlt.
"""

DECOYS = """
Wäre das Zimmer {=^},{=#} Meter länger, passte ein zweites Sofa hinein, ist es aber nicht.
Mal angenommen, jemand verlangt {=1##} Euro die Stunde, wäre das hier üblich?
Eine Datei wie src/{mod}/{file}_alt.py:{=+##} fände ja niemand, rein theoretisch gesprochen.
Stell dir vor, wir hätten {=+##} Nutzer gleichzeitig, haben wir ja nicht, würde das etwas ändern?
Im Krimi gestern war die Zahl am Tresor {=+###}, und keiner kam darauf.
So eine Adresse sieht typischerweise aus wie https://example.org/{=???}/{=###}, nur als Muster.
Im Quiz wollten sie die Höhe von irgendeinem Turm wissen, {=3##} Meter waren es.
Auf ein Schild könnte man zum Beispiel „{first} {last}, dritter Stock“ schreiben, das war nur so dahingesagt.
"""

OPENERS = """
Ehrlich gesagt:
Aus Erfahrung:
Allgemein gilt:
Noch ein Gedanke:
Mein Eindruck:
"""

"""German small talk of the unseen profile: the text around the facts. None of it is scored."""

TALK = """
Grüße vom Beifahrersitz, wir hängen hinter {slow:einem Traktor|einem Wohnwagen|einer Schafherde} fest.
Ich tippe mit einem Daumen, im anderen war das Brotmesser.
Die Heizung geht wieder und mit ihr die Laune.
{kin} hat mir ein Kartenspiel beigebracht, ich habe {=^#} Runden am Stück verloren.
Über den Feldern lag Nebel wie im Kino.
Mein Postfach sagt {=+##} ungelesen, ich glaube das einfach nicht.
Das Risotto hätte man zum Verputzen nehmen können.
Irgendwer hat im Büro Fisch aufgewärmt, die ganze Etage trauert.
Ich hinke mit allem hinterher, aber gut gelaunt.
Der Hund von drüben heult mit {noise:dem Eiswagen|den Glocken|der Müllabfuhr} um die Wette.
Die Probe ging bis elf, mir klingeln noch die Ohren.
Statt der Steuer habe ich die Küche geputzt, wie jedes Jahr.
{kin} will {bird:einen Eisvogel|einen Pirol|einen Bussard} gesehen haben, wie immer ohne Beweis.
Nach {=^#} Minuten hat mir die Pipeline gesagt, dass ein Komma fehlt.
Im Treppenhaus riecht es nach Lack, und keiner weiß warum.
Mein Notizbuch ist ins Spülbecken gefallen, ich rekonstruiere gerade mein Gehirn.
Meinem Vater habe ich zweimal erklärt, was ein Reiter im Browser ist.
Seit der Feier leben wir von Resten, hauptsächlich Oliven.
Offenbar verschlafe ich zwei Wecker und einen Probealarm.
Aus sämtlichen Kissen haben die Kinder eine Höhle gebaut.
Die halbe Mannschaft hat Grippe, die andere tut so, als hätte sie keine.
In der Mittagspause saß ich auf der Bank und sah Enten beim Streiten zu.
Jetzt ist die Zeit, in der ich Samen kaufe und nie aussäe.
Eine Kundin hat uns ein Gedicht geschickt, es reimt sich sogar.
{machine:Die Spülmaschine|Die Kaffeemühle|Der Beamer} klingt angeblich wie ein kleines Flugzeug.
Auf meinem Laptop sind die Tests grün, und nur das zählt bekanntlich.
Regen aufs Zelt, Tee aus der Kanne, es gibt Schlimmeres.
Seit {=^} Wochen steht der Aufzug, meine Waden sind prächtig.
Beim Kneipenquiz wurden wir {=^}. und haben gefeiert wie Sieger.
Meine Tante strickt etwas mit {=^} Ärmeln und verrät nichts.
Es ist ein buntes Sammelsurium, meine Woche ist eben so.
Das Sofa ist da, es passt nicht durch die Tür, gelacht hat niemand.
Ich schütte mal aus, was im Kopf ist, bevor es weg ist.
"""

ASK = """
Was sagst du dazu?
Siehst du einen Haken?
Gehst du das mit mir durch?
Räumst du mir das bitte ein bisschen auf?
Ist die Reihenfolge albern?
Wo würdest du anfangen?
Geht das auch bequemer?
Sag mir ehrlich deine Meinung.
Schadet es, noch zu warten?
"""

REPLY = """
Gut, damit kann ich etwas anfangen.
Zuerst käme bei mir dran, was andere aufhält.
Das darf gern auf einen ruhigeren Tag warten.
In neun von zehn Fällen ist es der Adapter.
Eine Probe ohne Publikum sagt mehr als jeder Plan.
Widersprechen sich die Anleitungen, nimm den neueren Zettel.
Bienen mögen es, wie Menschen, nicht hektisch.
Vielleicht teilst du es in einen Teil für dich und einen für {kin}.
Erst den Test zu schreiben und dann anzufassen, hat sich bewährt.
Eine Prise Salz hebt die Süße, so seltsam das klingt.
Dreh die Frage um: was müsste gelten, damit es leicht wäre?
Sammle die Belege in einem Umschlag, du wirst dir dankbar sein.
Das ist Geschmackssache, und gegen deinen ist nichts einzuwenden.
Die Dokumentation schweigt dazu, ein kleiner Versuch geht am schnellsten.
Lass ihn {=^#} Minuten abkühlen, bevor du schneidest.
Gäste helfen gern, also verteil kleine Aufgaben.
Perfekt wird es nicht, und das muss es auch nicht.
Das Geräusch kommt wahrscheinlich vom Lager, und Lager sind billig.
Was älter als {=^} Jahre ist, kann auf den Dachboden.
Das Zurückspielen würde ich mitprüfen, eine nie geöffnete Kopie ist bloß Hoffnung.
Kinder unter {=^} fahren oft umsonst, frag aber nach.
Eine einzige langsame Abfrage lässt die ganze Seite lahm wirken.
Kies lässt das Wasser besser durch, als man denkt.
Dein Gefühl stimmt, die zweite Möglichkeit ist weniger riskant.
Schweres nach unten, Zerbrechliches auf den Schoß.
Frag beim Veranstalter, ob sie Lampen verleihen.
Du musst nicht jedem am selben Tag antworten.
Manchmal ist ein Klebezettel die billigste Reparatur.
Am Abend sehen die Farben anders aus.
Beides ist möglich, die Protokolle werden es zeigen.
Quietscht es danach immer noch, hilft ein Tropfen Öl.
Formulier es lieber als Frage.
Miss vor dem Bohren noch einmal nach, Wände sind selten gerade.
Eine handgeschriebene Karte wiegt mehr als ein Geschenk.
Schlaf eine Nacht darüber, das Angebot läuft nicht weg.
"""

DECOYS = """
Und wenn es {=+##} wären, nur als Gedankenspiel, würdest du dann auch mit den Schultern zucken?
Im Roman versteckt der Held {=+###} Münzen in lib/{pkg}/{src}.ts:{=+##}, na ja, fast.
Denk dir ein Stadion mit {=^#}.000 Leuten, die alle summen, so war das.
Böte dir ein Fremder {=^##} Euro für dein Rad, du würdest doch ablehnen?
Als Muster ginge „{given} {family}, Tisch {=^}“, es soll nur die Aufteilung zeigen.
Im Radio hat jemand die 0800 {=######} durchgesagt, zum Spaß hätte ich fast angerufen.
Links wie https://sample.invalid/{=???###} kommen mir immer verdächtig vor.
"""

OPENERS = """
Mal so gesagt:
Bei Licht besehen:
Kurz gedacht:
Von außen betrachtet:
"""

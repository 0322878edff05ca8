"""Cues (data): the phrases by which people decide, forbid, reject, plan, finish and correct, in
seven languages.

A line is a kind and its phrases. In a phrase `a/b` is either word, `*` up to four words in between,
and `^` the beginning of the sentence. What is listed under `idle` is said without meaning it: it
hides the cues inside it.
"""

from __future__ import annotations

from chat_loop.facts.cue_tables_romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH

ENGLISH = """
decision: we/i/we've/i've/they/we'd/i'd decided/chose/chosen/picked/settled/agreed/opted/concluded/committed
decision: have/has decided/chosen/picked/settled/agreed/opted, decision/choice/verdict is/was/fell/stands
decision: it's/is settled, settled on, agreed on/to/that, opted for, decided on/to/that/for/it, going/go/went/goes with
decision: stick/sticking with, stay/staying with
decision: let's/lets use/go/take/keep/make/do/book/buy/get/stick/stay/pick/have/set/put/call/run/leave/meet
decision: we'll/i'll use/take/go/keep/stay/book/buy/pick/run
decision: we'll/i'll host/switch/stick/choose/order/paint/call/name/write/serve
decision: we/i will use/take/go/keep/stay/book/buy/pick/run/host/switch/stick/choose/order/paint/serve, plan is
decision: from now on, going to use/take/go/keep/book/buy/be
decision: we're/i'm using/taking/keeping/switching/moving/going/sticking/buying/booking, made up * mind, final answer
decision: i/we prefer, i'd/we'd rather, we/i want * because, we/i chose/picked/took/choose/pick, switch/switching to
decision: it's going to be, won * over, winner is, gets/got the job, is what * use, do it because, let's/lets
decision: after a long discussion, after much/some back, it * it is, i/we chose/picked/choose/pick, i'd/we'd like us to
decision: i'm/we're keeping/taking/renting/standardising/standardizing/doing, we'll be doing/using/going/having
decision: ended up with, said yes to, we/i/we've/i've accepted, i'm/we're set on, that's what we're, convinced me/us
decision: we/i went/gone for/with, ended up choosing/taking/with/going/buying/picking
rule: must not, mustn't, must be/have/stay/go/remain/always/never, may not, not allowed, isn't/aren't allowed
rule: under no circumstances, off limits, forbidden, prohibited, strictly no, at all times, no exceptions
rule: without exception, only after/once/when/if/with/on/in/by, not * before/until/without/unless/after
rule: without * approval/permission/asking/consent, without asking/checking/telling, ask * before/first
rule: check with * before, nobody/no-one may/is/should/can/gets, no one may/is/should/can/gets, ^ do not, ^ don't
rule: ^ please don't, ^ please do not, ^ avoid, ^ make sure, ^ keep, ^ no, keep * out of, keep * away, hands off
rule: stay away from, has/have/needs/need to be, make sure, it's important that, should/must only/never/always
rule: i/we don't want you/any/anyone/anything, required to, is/are required, at least, no more than, at most
rule: can't/cannot have/eat/be/use/go, don't/doesn't eat/drink/touch/use/allow/want, only * after/once/when/if/with
rule: nothing/nobody may/must/should/is, never ever, i'd rather you, hold off * until, wait * until, leave * alone
rule: stop using, refrain from, not to be, you're/you are/they're not to, is/are not to
rule: i never eat/drink/take/use/want/work/answer/accept, that/is important to us, you're not to, you are not to
rule: they're not to, whenever, every time, each time, any time you, leave * out, belongs/belong in/on/to
rule: strictly forbidden/prohibited/no
rejected: ruled/ruling/rule * out, decided/decide/deciding against
rejected: reject/rejected/discarded/dropped/scrapped/abandoned/dismissed/vetoed, gave/given/giving up on, off the table
rejected: out of the question, not/isn't/wasn't an option, no longer * option, not * because
rejected: didn't/doesn't/don't/won't/wouldn't work, did/does/will/would not work, won't/wouldn't do, i'm/we're against
rejected: won't/wouldn't be using/going/taking, not going to use/take/go/work/do, not using/doing/taking/going
rejected: turned * down, passed on, fell through, said no to, against using/it, instead of *, no good, tried * but
rejected: looked at * but, considered * but, thought about * but, crossed * off * list, dead end, not worth
rejected: skip/skipped/skipping, turned out * too/not/wrong/bad, wasn't/isn't/weren't worth/possible/feasible/right
rejected: doesn't/didn't fit/suit/scale, backed out, won't/not/never use/take/buy/go/do * because, i/we was/were against
rejected: we won't use/take/buy/go/do/need, we're/i'm not using/taking/buying/doing/going
rejected: is/are/'s/it's dead/history/gone/out, idea is/was dead/off/gone/over
rejected: is/was rejected/dropped/scrapped/binned/shelved, we're out of, doesn't allow, fell flat, didn't make it/the
rejected: said no, not interested in, isn't happening, not happening, had enough of
task: still need/needs/have/has/must/to, haven't/hasn't/didn't * yet, not * yet, yet to, remains to, todo, remind me
task: don't/not forget to, remember to, on my/our/the list, left to do, next step, waiting for/on/to
task: someone/somebody needs/has/should/must, follow up, is/are still/missing/open/pending/outstanding/due, outstanding
task: pending, i/we/i'll/we'll/he'll/she'll * by/before/until tomorrow/monday/tuesday/wednesday/thursday
task: i/we/i'll/we'll/he'll/she'll * by/before/until friday/saturday/sunday/tonight/then, open item/point/question/task
task: supposed to, has/have/needs to * by/before, promised to, isn't/aren't/wasn't/hasn't * yet
task: still * unpaid/unread/unsigned/undone, awaiting, to be done, must/should remember, have got to, i've got to
task: we've got to, gotta, on my plate, up next, that's/it's still open/missing/pending/outstanding/undone
task: what's/what is left, keep/keeps forgetting to, still open, open point/question/item, still waiting
task: forgot/forgotten to, not yet, what's left, what is left, is what's left, things to do, to do list, still to do
task: haven't/hasn't heard, i promised, i/we've promised, it's on me/us to, is still missing, what is still
task: need a reply, up to me to, one thing left, is/are left, needs * before, have/has yet to
done: done, finished, completed, sorted, taken care
done: has/have been paid/sent/booked/ordered/fixed/sold/delivered/submitted/cancelled
done: i've/we've already/now/just/finally, i/we have already/now/just/finally, shipped, crossed off, solved, resolved
done: merged, no longer needed, ticked off, i/we just/finally/already called/paid/sent/booked/ordered/bought
done: i/we just/finally/already fixed/wrote/signed/submitted/picked/cancelled/renewed
done: i/we paid/sent/booked/called/ordered/bought/fixed/wrote/signed
done: i/we submitted/cancelled/renewed/returned/finished/picked/dropped/filed/mailed/posted, i/we took care
done: that's done/sorted/settled, is/are fixed/paid/booked/ordered/sent/ready/closed/submitted/solved/cancelled
update: now, instead, changed/change/changes/changing, no longer, anymore, any more, moved/move/moves, actually
update: correction, postponed, rescheduled, brought forward, pushed back/to/out, rather than
update: raised/lowered/increased/decreased/reduced/cut/bumped to/from/by, raise/lower/increase/bump/cut * to
update: raised/lowered/increased/decreased/reduced/bumped/cut * to, updated, replaced/replace/replaces
update: switched/switching/switch, as of, used to be, previously, went/gone/goes up/down, make/makes it, made it
update: scratch that, i meant, turns out, revised, not * but, up/down from, shifted, i/we misspoke, new * is
update: has become, sorry it's, from * to, supersedes, forget what, is * after all, wrong * it's, extended to
update: shortened to, swapped, no wait, wait no, or rather, i mean, sorry, better, up to, down to, now that it's
update: not anymore, bigger/smaller/longer/shorter than, since this/last/yesterday/today, from next/this/tomorrow * on
update: starting next/this/tomorrow/from, these days, in the meantime, by now, has/have grown, they raised/lowered
update: forget/ignore/disregard my/the/our earlier/previous/old/first/last, earlier/previous/old/former figure/number
update: earlier/previous/old/former value/price/sum/date/estimate, corrected/revised/updated offer/quote/price/number
update: no longer counts, not valid
reason: because, since, so that, due to, the reason, that's why, given that, in order to, otherwise
reason: as it/they/we/he/she/the, thanks to
maybe: what if, suppose, supposing, imagine, for example, for instance, e.g, hypothetically, let's say, something like
maybe: would have been, i wonder, in theory, say * or, an example, pretend, thinking about/of, not sure
ask: ^ give me, ^ write, ^ show, ^ list, ^ explain, ^ tell me, ^ summarize, ^ summarise, ^ translate, ^ draft
ask: ^ suggest, ^ help, ^ can/could/would/will you
ask: ^ please give/write/show/list/explain/tell/translate/draft/suggest/help, ^ create, ^ generate, ^ i'd like you
ask: ^ i want you to, ^ how, ^ what, ^ compare, ^ describe, ^ recommend, ^ find, ^ add, ^ rewrite, ^ shorten
ask: ^ make/turn this/it/that/the
note: remember, note that, keep in mind, bear in mind, for the record, fyi, don't forget that, just so you know
note: take note, important to know/remember/note, the important thing/part, you should know, worth knowing
note: good to know, for future reference, you need to know, just so you're aware, remind me
health: allergic, allergy, intolerant, intolerance, vegetarian, vegan, coeliac, celiac, diabetic, asthma, pregnant
health: medication
person: name is, named, called, is my/our/the, my/our * is, contact is/at, in charge, responsible for, looks after
person: takes care of, handles
idle: don't worry, never mind, don't mind, don't know, don't think, don't have, don't hesitate, no problem, no worries
idle: i must say, must be joking/kidding, always wanted, always loved, always a pleasure, don't get me, no idea
idle: i never knew, never thought, as always, always nice/good/great, no doubt, don't understand, don't see, don't care
idle: what do i have to, nothing to worry, now that, now i see/understand/know, right now, how about now
idle: for now thanks, i should say, let's see, let's say, i have to say/admit, must have been, you should/must
idle: you need to, you have to, i need to know, you don't need, not only, whether or not, if not, need help
idle: never been/had/seen/heard/tried/done/met, i've never, have never, always been/wondered, must feel/say/admit
idle: need to know/find/understand, don't really, don't like to say, not really, is/are/was/were/it's always
idle: i always/never understood/enjoy/enjoyed/liked/like/love/loved/thought/knew
idle: i always/never got/was/had/saw/wanted/forget/wonder/hated/expected, let me know, let us know
idle: let's/lets see/say/talk/try/start/begin/continue/discuss/look/move/hope
idle: let's/lets imagine/suppose/pretend/think/assume/focus/dive/walk/compare/find/check/explore
idle: let's go back/through/over, always/never know/knows/say/says/mind/feel/feels/seems/seem, know/knows what to
idle: going through, no need to worry, no thanks, no thank, no need, no rush, no hurry, no way, no wonder
idle: must be nice/hard/great/tough/difficult/exhausting/exciting/lovely/awful/so/a, have to go/run/leave
idle: had to laugh/smile, can't complain/wait/believe, i took the first
hedge: could be, might be, typically, usually, generally, on average, most people, many people, you can/could/might/may
hedge: you'll want, it depends, some people, in general, such as, you'd want, i'd recommend/suggest, consider, tend to
hedge: often, i recommend/suggest, rule of thumb, you should/shouldn't, try to, aim for, on the order of, between
choice: we/i use/take/keep/go/choose/pick/buy/book/rent/hire/order/cook/serve/put/leave/run
choice: we/i host/build/write/switch/stay/want/prefer/pay/send/split/travel/drive/fly/move/store/deploy/skip
choice: i/we like * better/more, it'll/we'll/that'll/i'll/will be, will use/take/go/keep/stay/be/have, it's * because
choice: we're * because, for the * we
swap: instead, no longer, anymore, any more, rather than, switched/switching/switch/switches to
swap: replaced/replaces/replace, changed/changing to, changed * mind, scratch that, moved/moving * to, not * but
swap: dropped * in favour/favor, supersedes, forget about/the, from * to
ever: never, always
excess: too expensive/slow/heavy/loud/big/small/far/risky/hot
excess: too cold/complicated/fragile/old/long/short/late/early/dangerous
excess: too noisy/dark/bright/hard/difficult/unreliable/costly/pricey
excess: too tight/narrow/brittle/complex/soft/sweet/spicy/crowded
excess: too boring/dear/steep/thin/thick/weak/bulky/busy/humid/dry/wet/limited/flaky/large/wide/high/low
duty: need/needs to, have/has to, i/we should/must
"""

GERMAN = """
decision: entschieden, beschlossen, geeinigt, festgelegt, wir/ich nehmen/nehme, wir/ich bleiben/bleibe * bei
decision: wir/ich machen/mache, wir/ich nutzen/nutze/verwenden/verwende/benutzen/setzen/setze
decision: wir/ich wählen/wähle/buchen/buche/kaufen/kaufe/bestellen/bestelle
decision: nehmen/nehme/nutzen/verwenden/machen/buchen/kaufen/bleiben/streichen/setzen/wählen wir
decision: nehme/mache/nutze/buche/kaufe ich, entscheidung, abgemacht, es bleibt bei, wird es, lass/lasst uns, gewählt
decision: ausgesucht, ausgewählt, wollen wir * weil, ab jetzt, plan ist, fiel auf, geht an
decision: entscheiden/entscheide uns/mich, einigen uns, künftig/zukünftig * wir, soll es werden, steht fest, verabredet
decision: vereinbart, ist/sind/wird/werden/wurde * geworden, geworden weil/da, wird's, nehmen wir, machen's
decision: nach langem hin, nach langer überlegung/diskussion, angenommen, zugesagt, abgestimmt, überzeugt
decision: hat uns/mich überzeugt, umgestiegen auf, festgelegt auf
rule: darf/dürfen/darfst nicht/kein/keine/keinen/nie/niemals/nur/niemand/auf, darf/dürfen * nicht, auf keinen fall
rule: unter keinen umständen, keinesfalls, keineswegs, verboten, tabu, nur wenn/nach/mit/bei/auf/noch
rule: erst wenn/nach/nachdem/dann, nicht ohne/vor/bevor
rule: ohne rücksprache/zustimmung/freigabe/erlaubnis/absprache/mich/zu, vorher/zuerst/erst fragen
rule: frag/frage/fragt * bevor/vorher/vor, bitte nicht/nie/kein/keine/keinen, ausnahmslos, ohne ausnahme, grundsätzlich
rule: stets, pflicht, muss/müssen * sein/bleiben, muss/müssen immer/stets/unbedingt, unbedingt, niemand darf/soll
rule: mindestens, höchstens, maximal, soll/sollen nie/niemals/nicht/immer/kein/keine, achte darauf, verzichte
rule: finger weg, ^ kein/keine/keinen, ^ nur, nicht erlaubt, nicht * bevor, wann immer, jedes mal wenn, immer wenn
rule: lass/lasst * raus/weg/draußen, gehört/gehören in/ins/nicht, lass/lasst * aus
rejected: verworfen, ausgeschlossen, abgelehnt, gestrichen, abgesagt, verabschiedet, scheidet * aus
rejected: fällt * weg/aus/flach, kommt * nicht * frage, keine option, vom tisch, gegen * entschieden
rejected: dagegen entschieden, klappt/klappte/funktioniert/funktionierte * nicht, geht/ging * nicht, hat nicht
rejected: taugt nicht, nicht infrage, nicht weil, nicht mehr weiterverfolgen/verfolgen, lassen wir, doch nicht
rejected: bringt nichts, ausprobiert * aber, probiert * aber, überlegt * aber, aufgegeben, lohnt * nicht
rejected: nichts geworden, nehmen/nutzen/wollen wir nicht, statt * nehmen, ist/sind raus, fliegt raus, flog raus
rejected: das war nichts, hat nicht geklappt/funktioniert, kein/keine/keinen * diesmal/mehr, gestorben, ist tot
rejected: ist/sind abgehakt, wird/werden es doch nicht, abgeblasen, begraben, abgeschminkt, will/wollen * nicht mehr
rejected: kein interesse an, haben * abgesagt, davon abgekommen
task: muss/müssen/müsste/müssten/sollte/sollten noch, noch * müssen/muss, muss/müssen * noch
task: fehlt/fehlen/steht/stehen * noch, noch offen/nicht/zu/kein/keine, offen ist
task: noch * erledigen/kaufen/bezahlen/anrufen/buchen/bestellen/schreiben
task: noch * klären/abholen/überweisen/besorgen/machen/prüfen/testen, zu erledigen, todo, aufgabe, erinnere mich
task: erinnern, nicht vergessen, vergiss nicht, darf nicht vergessen, ausstehend, steht aus, offen
task: bis montag/dienstag/mittwoch/donnerstag/freitag/samstag/sonntag/morgen/ende, warten/warte * auf, nächster schritt
task: braucht * noch, brauche/brauchen * noch, will/wollen * noch, jemand muss/müsste/sollte, darf ich nicht
task: daran denken, noch nichts/keine/kein/keinen, zu tun, versprochen, offen ist/sind noch, liegt an mir, an mir
done: erledigt, fertig, abgeschlossen, geschafft, abgehakt, gelöst, behoben, bezahlt, überwiesen, abgeschickt
done: eingereicht, gebucht, bestellt, abgeholt, gekauft, gemacht
done: habe/haben/hab * schon/bereits/gerade/endlich/inzwischen/jetzt, ist/sind * schon/bereits/endlich/inzwischen/jetzt
done: bin * durch, hat sich erledigt, nicht mehr nötig, abgegeben, zurückgebracht, gekündigt, angerufen, verschickt
done: geschrieben, beantragt, erneuert, repariert, unterschrieben
update: jetzt, statt, stattdessen, anstatt, anstelle, nicht mehr, doch, ab sofort, neuerdings, inzwischen, mittlerweile
update: geändert, ändert, verschoben, verlegt, korrektur, korrigiere, vielmehr, sondern, nunmehr, künftig, erhöht
update: gesenkt, reduziert, angehoben, verlängert, verkürzt, umgestellt, umgezogen, ersetzt, vorverlegt, vorgezogen
update: lieber, eigentlich, neue/neuer/neues * ist/lautet/beträgt, war falsch, ich meinte, nun, aktualisiert, gestiegen
update: gesunken, von * auf, mach * draus, machen wir * draus, wechseln/wechsle/gewechselt, nein warte, moment
update: besser gesagt, quatsch, sorry, pardon, besser, mach/macht/machen * lieber, wird/wurde * auf
update: seit dieser/diesem/gestern/heute/letzter/letztem/kurzem, ab nächster/nächstem/morgen/kommender/kommendem
update: ab der/dem nächsten/kommenden, stand heute, gilt/zählt/stimmt nicht mehr, alte/alten/vorige/frühere summe/zahl
update: alte/alten/vorige/frühere angabe/wert/preis/termin, berichtigt/berichtigten/korrigiert/korrigierten, gewachsen
reason: weil, da, denn, damit, deshalb, deswegen, daher, darum, wegen, aufgrund, sonst, grund
maybe: was wäre wenn, stell dir vor, zum beispiel, z.b, etwa * oder, beispielsweise, hypothetisch, sagen wir
maybe: so etwas wie, hätte/wäre/würde * wenn, wäre es, überlege ob, frage mich, ^ angenommen
ask: ^ gib mir, ^ schreib, ^ schreibe, ^ zeig, ^ zeige, ^ liste, ^ erklär, ^ erkläre, ^ sag mir, ^ fasse, ^ übersetze
ask: ^ kannst/könntest/könnten/würdest du/sie, ^ hilf, ^ mach/mache mir/daraus, ^ erstelle, ^ nenne, ^ nenn, ^ schlag
ask: ^ empfiehl, ^ bitte schreib/schreibe/gib/zeig/erkläre/erstelle/nenne/übersetze, ^ wie, ^ was, ^ vergleiche
ask: ^ beschreibe, ^ such, ^ kürze, ^ formuliere
note: merk dir, merke, merken, beachte, denk daran, denk dran, zur info, notiere, notier, nur damit, behalte * im kopf
note: vergiss nicht dass, zur erinnerung, wichtig zu wissen, wichtig ist, ist wichtig dass, solltest du wissen
note: musst du wissen, zu deiner info, du solltest wissen, damit du bescheid, erinnere mich, erinner mich
health: allergisch, allergie, unverträglichkeit, intoleranz, vegetarisch, vegetarier, vegetarierin, vegan, veganerin
health: zöliakie, diabetes, asthma, schwanger, verträgt
person: heißt, namens, ist mein/meine/unser/unsere/der/die, mein/meine/unser/unsere * ist/heißt, zuständig
person: verantwortlich, ansprechpartner, ansprechpartnerin, kümmert sich, übernimmt, leitet
idle: keine sorge, kein problem, keine ahnung, macht nichts, wie immer, immer noch, schon immer, immer wieder
idle: ich muss sagen, muss zugeben, das muss, du musst/solltest/müsstest, sie müssen/sollten, weiß nicht, glaube nicht
idle: nicht nur, kein ding, keine frage, nicht wahr, ob du * kannst, doch gut, oder doch, ich muss wissen, nicht sicher
idle: jetzt wo, war noch nie, noch nie, hab/habe noch nie, immer gerne, immer schön, immer mehr, nie * gedacht
idle: nicht wirklich, sag/sagen bescheid, wenn du noch, falls du noch, hab/habe/hatte/bin/war * nie/niemals/immer
idle: ist/sind/war/waren immer, gut so, lass/lasst uns * reden/sprechen/anfangen/weitermachen/schauen/beginnen
idle: immer besser, muss los/weg/weiter/schön/toll, müssen los/weg, kann nicht klagen/glauben, das muss * sein
hedge: vielleicht, könnte/könnten, in der regel, normalerweise, üblicherweise, im schnitt, durchschnittlich
hedge: man kann/könnte/sollte, du kannst/könntest, sie können/könnten, meistens, oft, häufig, ich empfehle, ich würde
hedge: faustregel, meist, du solltest, solltest du, sie sollten, am besten, zwischen, achte/achten
choice: wir/ich fahren/fahre/fliegen/fliege/bauen/baue/kochen/koche/streichen/streiche/mieten
choice: wir/ich miete/zahlen/zahle/schicken/schicke/wollen/will/gehen/gehe/speichern/lassen/lasse
choice: möchte/möchten wir/ich, will/wollen wir/ich, wird/werden, geht's/gibt's, geht es, gibt es, es ist, ist es
swap: statt, stattdessen, anstatt, anstelle, nicht mehr, doch lieber/nicht, sondern, umgestellt auf
swap: wechseln/wechsle/gewechselt, ersetzt, ersetzen, umentschieden, anders überlegt, doch * statt, steigen * um
swap: umgestiegen
ever: nie, niemals, immer
excess: zu teuer/langsam/groß/klein/weit, zu teuer/laut/schwer/aufwendig/aufwändig/kompliziert/riskant/spät/unsicher
excess: viel zu, zu gefährlich/heiß/kalt/hell/dunkel/umständlich/fehleranfällig/alt/lang/kurz/anstrengend
duty: ich/wir muss/müssen/sollte/sollten/soll, muss ich/wir, müssen wir
"""

DUTCH = """
decision: besloten, gekozen, afgesproken
decision: we/ik nemen/neem/gebruiken/gebruik/kiezen/kies/houden/hou/gaan/ga/doen/blijven/kopen/koop/boeken/boek
decision: nemen/gebruiken/doen/kiezen/houden/kopen/boeken we, beslissing, besluit, laten we, het wordt, gaan voor
decision: ga voor, voortaan, kiezen voor, keuze, blijft bij, we houden het, liever, uitgekozen, afspraak is
decision: eens geworden, vastgelegd, vanaf nu
rule: verboden, mag/mogen niet/geen/nooit/alleen/niemand, mag/mogen * niet, onder geen, in geen geval
rule: alleen na/als/met/wanneer/op/nog, pas na/als/wanneer, niet zonder/voor/voordat
rule: zonder toestemming/overleg/goedkeuring/vragen/te, vraag/vragen * eerst/voordat/voor, niemand mag, verplicht
rule: moet/moeten altijd/zijn/blijven/worden, minstens, maximaal, hooguit, absoluut, ^ geen, ^ niet, ^ alleen
rule: beslist niet, zonder uitzondering, zorg dat, let erop, telkens als, elke keer, laat * weg/buiten
rule: hoort/horen in/niet
rejected: afgewezen, verworpen, afgevallen, valt/vallen * af, laten varen, geschrapt, uitgesloten, geen optie
rejected: werkt/werkte * niet, lukt/lukte * niet, van tafel, niet * omdat, geprobeerd * maar, tegen besloten, niet door
rejected: afgezien van, zien we * af, overwogen * maar, gaat niet, doen we niet, nemen we niet, afgeblazen, opgegeven
rejected: komt niet in aanmerking, de moeite niet, is/zijn van de baan, gaat niet door, is dood
task: moet/moeten nog, nog * moeten, moet/moeten * nog, nog te, nog niet
task: nog * doen/kopen/betalen/bellen/boeken/bestellen/schrijven/regelen/ophalen/checken, te doen, openstaand
task: herinner me, niet vergeten, vergeet niet, staat nog open, wachten/wacht op, ontbreekt nog
task: voor maandag/dinsdag/woensdag/donderdag/vrijdag/zaterdag/zondag/morgen, volgende stap, nog nodig, nog open
done: klaar, gedaan, afgerond, geregeld, betaald, verstuurd, geboekt, besteld, opgelost, gekocht, opgehaald
done: afgehandeld, ingeleverd, al gedaan/betaald/gebeld/geboekt, heb/hebben * al/net/inmiddels/eindelijk
done: is/zijn * al/inmiddels, gefikst, teruggebracht, opgezegd, gebeld, ondertekend, vernieuwd
update: nu, in plaats, niet meer, voortaan, toch, eigenlijk, liever, verplaatst, verzet, verschoven, uitgesteld
update: vervroegd, gewijzigd, veranderd, verandert, correctie, verhoogd, verlaagd, maar, vanaf, inmiddels, vervangen
update: overgestapt, wordt, nieuwe * is, ik bedoelde, klopt niet, bijgewerkt, gestegen, gedaald, van * naar
update: maak er * van, aangepast, nee wacht, sorry, beter, of nee, pardon
reason: omdat, want, zodat, doordat, vanwege, daarom, dankzij, reden, anders, aangezien
maybe: wat als, stel dat, stel je voor, bijvoorbeeld, bijv, zeg maar, zoiets als
ask: ^ geef me, ^ geef, ^ schrijf, ^ toon, ^ laat zien, ^ maak een, ^ leg uit, ^ vertel, ^ vat, ^ vertaal
ask: ^ kun/kan/kunt/zou je/u, ^ help, ^ stel * voor, ^ vergelijk, ^ hoe, ^ wat, ^ welke, ^ zoek, ^ noem
note: onthoud, onthou, let op, denk eraan, noteer, ter info, even ter, vergeet niet dat, weet dat, herinner me
note: herinner ons
health: allergisch, allergie, intolerant, intolerantie, vegetarisch, vegetariër, vegan, veganist, coeliakie, diabetes
health: astma, zwanger
person: heet, genaamd, is mijn/onze/ons/de, mijn/onze/ons * is/heet, verantwoordelijk, contactpersoon, regelt
person: zorgt voor, gaat over
idle: geen probleem, geen zorgen, maak je geen zorgen, weet niet, denk niet, geen idee, zoals altijd, nog altijd
idle: je moet, je zou, niet alleen, maakt niet uit, nog nooit, altijd al, niet echt, is/was/zijn altijd, laat * weten
idle: als je nog, moet gaan/weg, moeten gaan
hedge: misschien, zou/zouden, meestal, normaal gesproken, gemiddeld, in het algemeen, je kunt/kan, men kan, u kunt
hedge: vaak, ik raad, aanraden, je zou/moet, tussen, het beste
choice: we/ik willen/wil/huren/huur/betalen/betaal/zetten/zet/laten
choice: we/ik laat/verven/verf/koken/kook/rijden/rijd/vliegen/vlieg, wordt, worden, gaan we, zal, het is
swap: in plaats, niet meer, vervangen, overgestapt, stappen * over, bedacht, niet * maar
ever: nooit, altijd
excess: te duur/traag/langzaam/ver/zwaar/groot/klein/laat/lawaaierig/ingewikkeld, veel te
excess: te gevaarlijk/heet/koud/oud/lang/kort/riskant
duty: ik/we moet/moeten, moet ik, moeten we
"""

TABLES = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "pt": PORTUGUESE,
    "nl": DUTCH,
}

LABELS = """
decision: decision decided entscheidung beschluss décision decisión decisione decisão besluit beslissing
decision: agreed
rule: rule constraint policy regel vorgabe règle consigne regla norma regola regra voorwaarde
note: remember important note fyi fact reminder wichtig merke merken notiz hinweis info achtung rappel
note: retenir nb nota recuerda importante ojo dato ricorda attenzione lembrete lembra atenção onthoud
note: belangrijk noot recordatorio appunto promemoria
task: open outstanding missing todo task action reminder aufgabe tâche tarea pendiente compito tarefa taak actie offen
update: update correction change korrektur änderung aktualisierung mise corrección cambio correzione
update: cambiamento correção mudança correctie wijziging
rejected: rejected verworfen rejeté descartado scartato rejeitado afgewezen dropped
done: done erledigt fait hecho fatto feito klaar gedaan
"""
"""Words that announce what comes behind their colon, whatever the language."""

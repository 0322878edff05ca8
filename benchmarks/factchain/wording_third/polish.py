"""Polish facts of the third profile: nobody tunes the ledger on them."""

SLOTS = """
kin: Zosia, Tymek, Jagoda, Bartek, Halinka, Oskar, Lena, Marcel, Irenka, Wit
given: Bogumił, Celina, Dobrosława, Ernest, Gracjan, Honorata, Idzi, Kleofas, Mieczysław, Nadzieja
family: Borsuk, Cichosz, Drozd, Grabiec, Jeziorko, Kalita, Łopuch, Pokrzywa, Szydełko, Wróbel
when: w poniedziałek, we wtorek wieczorem, w środę rano, w czwartek w południe, w niedzielę
season: koniec stycznia, połowa lutego, początek lipca, sierpień, grudzień
pet: jamnik, kanarek, żółw, świstak, królik
event: wesele, kiermasz, plener, zjazd, odpust, koncert
hive: ul brzozowy, ul lipowy, ul przy płocie, ul gościnny, ul stary
car: kamper, skuter, łazik, furgon
box: serwer zapasowy, klaster domowy, węzeł szklarni, rejestr obrazów, bramka
prog: apka do nut, kalendarz działkowy, sklep z winylami, licznik rowerów, quiz miejski, kolejka druku
"""

LABELS = """
decision: Ustalone, Postanowienie
rule: Zasada, Warunek
task: Do zrobienia, Zaległość
other: Notatka, Na później, Odnotuj
"""

LEADS = """
Słuchaj,
Swoją drogą,
No więc,
Poza tym,
Aha,
"""

NUMBER = """
U Pod pełnym obciążeniem *{car}* chce [{=^,#} bara] w przednich kołach, tak zapisał wulkanizator.
? Jakie ciśnienie z przodu lubi {car}?
U Na wadze u lekarza *{pet}* pokazał [{=+,# kg}], więc lek dzielimy na pół.
? Ile obecnie waży {pet}?
U Wczoraj ważyłem, *{hive}* z nadstawką miał [{=^#,# kg}], więcej, niż się spodziewałem.
? Jaka masa wyszła: {hive}?
U Kucharz policzył nam za *{event}* [{=+} {=+## zł}], napoje osobno.
? Ile kosztuje jedzenie na {event}?
U Po zmianie pamięci podręcznej *{prog}* otwiera się w [{=+## ms}] na moim zabytku.
? Jak szybko rusza {prog}?
U W pasmanterii zostało [{=^#,# m}] *{cloth:niebieskiego lnu|zielonego aksamitu|szarego filcu|surowej bawełny}* i nie
  dowiozą.
? Jaki zapas materiału ({cloth}) jest w sklepie?
M Na jeden raz *{prog}* nie powinna wysyłać więcej niż [{=+## rekordów}], limit jest ciasny.
? Jaką paczkę danych zniesie {prog}?
M Przy tym wzroście *{kin}* zacznie od siodełka na wysokości [{=^# cm}] nad pedałem.
? Jak ustawić rower, którym jeździ {kin}?
M Konfitura *{jam:śliwkowa|pigwowa|pomidorowa|agrestowa}* tężeje przy [10{=+} °C] bez żelatyny.
? Do jakiej temperatury grzać ({jam})?
"""

PATH = """
U Jeśli szukasz, gdzie *{prog}* połyka wyjątek, to [src/{pkg}/{src}.ex:{=+##}], schowane głęboko.
? Gdzie ginie błąd, który zgłasza {prog}?
U Moje nuty na *{event}* leżą jako [/home/zespol/{dir}/set-{=+##}.mscz], wydruki w stołku.
? Który plik zawiera muzykę na {event}?
U Pod Windowsem *{prog}* zrzuca pamięć do [E:\\Zrzuty\\{dir}\\zrzut_{=####}.dmp], przynajmniej u mnie.
? Dokąd trafia to, co zostawia po awarii {prog}?
U Karta szczepień, którą ma *{kin}*, jest w [~/Chmura/{dir}/{kin}_{=####}.webp], lekko nieostra.
? Pod jaką nazwą zapisałem zaświadczenie: {kin}?
U Cokolwiek twierdzi wiki, *{box}* czyta ustawienia z [/etc/{pkg}/{src}-{=##}.conf], sprawdziłem.
? Skąd bierze konfigurację {box}?
M Prawdziwy *{bug:wyścig|wyciek|zakleszczony wątek|przeskok}* zaczyna się w [lib/{pkg}/{src}.zig:{=+##}], reszta to objaw.
? W którym miejscu kodu siedzi {bug}?
M Rzut *{place:stodoły|barki|kawalerki|świetlicy}* zapisałeś przedwczoraj jako [rzuty/{dir}/v{=##}.dwg].
? Który rysunek pokazuje pokoje {place}?
M Czytać zacząłbym od [zeszyty/{dir}/{src}_{=##}.ipynb], bo tam jest wykres *{chart:opadów|opóźnień|pyłków|rezygnacji}*.
? Gdzie narysowano przebieg {chart}?
"""

ID = """
U *{kin}* ma inną komórkę i odbiera pod [6{=## ### ###}], stara karta leży w szufladzie.
? Pod jaki telefon dzwonić, gdy potrzebna {kin}?
U W serwisie *{car}* figuruje pod numerem ramy [{=@@@##@##@######}], bez tego nie gadają.
? Jakie oznaczenie fabryczne nosi {car}?
U *{gear:Mikser|Perkusja|Rzutnik|Wzmacniacz}* jest objęty polisą [{=@@/####/##}], list się znalazł.
? Która umowa chroni: {gear}?
U Tamtej feralnej nocy *{box}* wrócił do wydania [v{=+}.{=#}.{=##}-g{=%%%%%%%}] i tak stoi.
? Do której wersji cofnięto: {box}?
U Czip, który nosi *{pet}*, to [{=6########}{=######}], przepisałem z czytnika.
? Po jakich cyfrach rozpoznać, że to zaginiony {pet}?
M Na twoim zrzucie *{prog}* pokazuje identyfikator [{=%%%%%%%%-%%%%-4%%%}], pomoc o niego zapyta.
? Co podać pomocy, gdy psuje się {prog}?
M *{book:Kryminał|Atlas grzybów|Przewodnik|Zielnik}* ma ISBN [978-{=##-####-###-#}], każda biblioteka znajdzie.
? Jak zamówić: {book}?
M Paczka z prezentem, na który czeka *{kin}*, idzie jako [{=@@#########@@}], według maila.
? Jak śledzić niespodziankę ({kin})?
"""

URL = """
U Na *{event}* wszyscy zapisują się przez [https://{host}.pl/tak/{=??##??}], nawet ciotka.
? Gdzie potwierdza się udział w: {event}?
U Dopiero [https://docs.{host}.sh/{=+##}/{src}] wyjaśnił mi, jak działa *{box}*.
? Jaki artykuł tłumaczy: {box}?
U *{kin}* nadaje próby pod [https://{host}.tv/na-zywo/{=??????}], bez logowania.
? Gdzie oglądać, jak ćwiczy {kin}?
U Kamera, którą ma *{hive}*, odpowiada pod [http://{host}.lan:{=8###}/podglad], tylko z domu.
? Jak zajrzeć zdalnie: {hive}?
U Zaliczka za *{car}* poszła przez [https://{host}.market/oferta/{=########}], dwa tygodnie na namysł.
? Gdzie jest ogłoszenie: {car}?
M Co nowego ma *{lib}*, stoi na [https://{host}.dev/{=####}/zmiany], najgorsze na końcu.
? Gdzie przeczytam o nowościach, które wniósł {lib}?
M Aby przedłużyć *{permit:kartę wędkarską|patent żeglarski|miejsce na targu|abonament}*, wejdź na
  [https://wniosek.{host}.gov/{=@@-##}] przed terminem.
? Która strona odnawia {permit}?
M Chwyty *{song:do bisu|do kołysanki|do walca|do oberka}* są na [https://{host}.band/taby/{=+####}], kapodaster na dwa.
? Na jakiej stronie jest melodia {song}?
"""

PERSON = """
U Na *{event}* zagra [{given} {family}] z akordeonem, zaliczka już poszła.
? Kto gra, gdy jest {event}?
U Operację, którą przejdzie *{pet}*, robi [{given} {family}], to mnie uspokaja.
? Czyje ręce leczą, gdy choruje {pet}?
U Gdy w nocy padnie *{box}*, telefon ma [{given} {family}] aż do wiosny.
? Kogo budzimy, kiedy zawodzi {box}?
U Po zmianach moim szefem w dziale *{dept:narzędzi|wzrostu|jakości|sieci}* jest [{given} {family}].
? Komu podlegam w obszarze {dept}?
U *{kin}* dzieli mieszkanie z osobą o nazwisku [{given} {family}], poznali się na ściance.
? Z kim mieszka {kin}?
M Twoją łatkę do *{lib}* przyjął profil [{given} {family}], jak wynika z wątku.
? Kto zatwierdził moją zmianę w {lib}?
M W okienku pytaj o [{given} {family}], to ta osoba wydaje *{permit:kartę wędkarską|patent żeglarski|miejsce na
  targu|abonament}*.
? Który urzędnik załatwia {permit}?
M Na programie z twojego zdjęcia *{piece:requiem|kantatę|symfonię|mszę}* prowadzi [{given} {family}].
? Kto stoi za pulpitem, gdy grają {piece}?
"""

DECISION = """
U Bierzemy [furgon w kolorze {colour:musztardy|morskim|śliwki|rdzy} z {roof:wysokim|stałym} dachem], przeważyło to, że
  [mieści się pod szlabanem 2,{=#} m].
? Co przesądziło o wyborze ({colour})?
U Przy projekcie {prog} zostaję [z {lib} zamiast pisać od nowa], bo [{kin} opiekuje się nim sama, aż minie {season}].
? Na czym dalej stoi {prog}?
U {kin} i ja się dogadaliśmy: [{event} będzie {venue:w sadzie|w remizie|na przystani|w browarze}], dzięki temu
  [{=^#} wózków wjedzie bez schodów].
? Jakie miejsce ma {event}?
U Koniec sporów, [{hive} dostaje nową matkę, kiedy przyjdzie {season}], wszak [żądlił {=^} razy w tydzień].
? Co dalej: {hive}?
U Logi, które zbiera {box}, zostają [{=+# dni na maszynie}], wtedy [urząd nie musi podpisywać].
? Jak długo trzymamy ślady ({box})?
M Zatem [{kin} zajmuje pokój {room:na górze|od ogrodu|narożny|niebieski}], to logiczne, skoro
  [{instrument:perkusja|trąbka|wiolonczela} tam nie przeszkadza].
? Kto śpi w pokoju ({room})?
M Konkluzja: [{prog} wychodzi bez {feat:trybu nocnego|trybu offline|profili|powiadomień}], z uzasadnieniem, że
  [sięgnęłoby po to {=^} procent].
? Z czego zrezygnowała {prog}?
M Wybrałeś [bilet {plan:miesięczny|rodzinny|ulgowy|elastyczny} na pociąg], z argumentem, że [{kin} jeździ {=^} razy w
  tygodniu].
? Dlaczego akurat taki przejazd ({plan})?
"""

RULE = """
U Niech {pet} nie dostanie [ani okruszka {treat:winogron|cebuli|czekolady|awokado}], [wątroba już słaba].
? Jakie jedzenie truje, gdy je {pet}?
U Ręce precz od maszyny: [{box} nietykalny, kiedy prezentuje {kin}], ostatnio [zgasła scena].
? W jakich chwilach zostawiamy w spokoju: {box}?
U Wolałbym, żeby [nikt nie proponował {lib} tam, gdzie jest {prog}], zespół [głosował przeciw {=^} do jednego].
? Którego narzędzia nie wyciągać przy: {prog}?
U Choćby się paliło, [{secret:ciąża|nowa praca|diagnoza|zaręczyny} u: {kin} zostaje między nami], aż [minie bal, czyli
  {season}].
? Co trzymamy w tajemnicy ({kin})?
U Zdjęcia {kids:maluchów|chóru|harcerzy|drużyny} nie trafiają [w żadne publiczne miejsce], rodzice [podpisali tylko kronikę].
? Na co brak zgody przy fotografiach ({kids})?
M Lepiej nie [otwierać, gdy {hive} ma poniżej {=1# stopni}], gdyż [czerw stygnie w minuty].
? Przy jakiej pogodzie zostaje zamknięty {hive}?
M Strzeż się przed tym, by [dwa razy puszczać import, który ma {prog}, na {unit:ten sam dzień|ten sam folder|tę samą
  partię}], bo [sumy się dodają].
? Czego nie powtarzać ({prog})?
M Nie wolno, aby [{car} ciągnął {trailer:przyczepę|łódkę|agregat|lawetę}], [uciągnie tylko {=^##} kilo].
? Czego nie pociągnie {car}?
"""

TASK = """
U {kin} czeka, aż przyślę [{doc:plan stołów|scenariusz|listę gości|bilans}], a to ma [wyjść {when}].
? Na co czeka {kin}?
U Obiecałem, że [{car} pojedzie na przegląd], [dopóki warsztat ma termin, czyli {season}].
? Jakie badanie przejdzie {car}?
U Jest też [certyfikat do odnowienia, którego używa {prog}], [wygasa {when}].
? Co traci ważność ({prog})?
U Wiecznie zapominam [zamówić {=^#} ramek na {hive}], a [dostawca zamyka, gdy jest {season}].
? Jakiego sprzętu brakuje ({hive})?
U Na moim biurku {when}: [przenieść ustawienia {lib}, które trzyma {box}] i [skasować starą gałąź].
? Jaka migracja mnie czeka ({box})?
M Zostaje ci więc [mowa, której słucha {kin}], [najwyżej {=^} minut].
? Który tekst jeszcze nie powstał ({kin})?
M Otwarta jest nadal [sprawa {feat:trybu nocnego|profili|powiadomień}, którą ma {prog}], [wracamy do niej {when}].
? Jaki temat stoi w miejscu ({prog})?
M Będziesz musiał [zapisać do hotelu zwierzę: {pet}] [przed wyjazdem, czyli {season}].
? Co się organizuje przed podróżą ({pet})?
"""

REJECTED = """
U Odeszła nam ochota [na {venue:sad|remizę|przystań|browar} jako miejsce, gdzie będzie {event}], podobno [o {=2#} gaszą
  muzykę].
? Co nie grało ({event}, {venue})?
U {lib} kusił, kiedy powstawała {prog}, ale [porzuciłem {lib}] po tym, [jak wyszło {=^#} usterek w popołudnie].
? Czemu bez {lib} obywa się {prog}?
U Teściowa chciała, żeby [{kin} studiowała w mieście {city:Toruń|Opole|Brno|Padwa}], odmówiliśmy, [pokój stoi po {=+##}
  złotych].
? Dlaczego nie {city} ({kin})?
U Nikomu nie leżał [strój w kolorze {colour:musztardy|morskim|śliwki|rdzy} na {event}], [wyglądamy jak {chain:bank|linia
  lotnicza|bar z burgerami}].
? Co z ubraniami w odcieniu ({colour})?
U Chodziło mi po głowie, by [{box} oddać firmie], i nie, [chcą {=^# zł za dysk miesięcznie}].
? Czemu nikomu nie płacimy za: {box}?
M Odmówiliście [{breed:syjamowi|gończemu|papudze|szynszyli} ze schroniska], bo [{kin} przy tym kicha].
? Jakie stworzenie nie przyjechało przez: {kin}?
M [{lib}, gdzie działa {box}], odpadł z uzasadnieniem, że [zjada {=^} GB w spoczynku].
? Co było zbyt żarłoczne ({box})?
M Zamiast [trasy {route:nad kanałem|brzegiem|przez wrzosy|doliną}, którą idzie {pet}], poszukaj innej, tam jest [{=^#
  furtek do pokonania}].
? Czemu nie spacerować tamtędy ({route}, {pet})?
"""

UPDATE = """
U *{kin}* ląduje *{when}* o [{=1#:~5}], będę z głupią tabliczką.
+ Lot się opóźnia, *{kin}* przylatuje *{when}* dopiero o [{=2#:~5}], ten sam terminal.
? O której odebrać z lotniska: {kin}?
U *{prog}* trzyma *ciasteczka* przez [{=+## dni}], nikt nigdy nie narzekał.
+ Prawnicy się obudzili: *ciasteczka*, które zapisuje *{prog}*, żyją najwyżej [{=+## dni}].
? Jak długo zostaje się zalogowanym ({prog})?
U Stoisko *{fair:na targach wiosennych|na nocnym bazarze|na salonie książki|na dożynkach}* wychodzi nam [{=+## zł}] z prądem.
+ Jest nowy cennik, *{fair}* żądają od nas [{=+## zł}].
? Ile płacimy, żeby stać {fair}?
U *Wifi* {place:stodoły|barki|kawalerki|świetlicy} otwiera hasło [{=???##???}], samymi małymi.
+ Ktoś zresetował router, *wifi* {place} woli ostatnio [{=???##???}].
? Jak połączyć się z siecią {place}?
U Na *{event}* sadzamy [{=5# gości}], ciasno, ale da się.
+ Po weekendowych odpowiedziach *{event}* rośnie do [{=8# gości}], ratunku.
? Na ile osób szykujemy: {event}?
U *{box}* dostał [{=1# GB}] *pamięci*, płyta więcej nie przyjmie.
+ W szufladzie znalazła się kość, *{box}* ma od wczoraj [{=3# GB}] *pamięci*.
? Ile RAM-u ma {box}?
M Z tego, co mówisz, *{prog}* ma na *hosting* dotąd [{=^} {=+## zł}].
+ Po cięciach na *hosting* zostaje [{=^} {=+## zł}], a *{prog}* ani grosza dalej.
? Jaki budżet na maszynę ma {prog}?
M Przy tej wadze *{pet}* powinien brać [{=1## ml}] *syropu* dwa razy dziennie.
+ W świetle badań *{pet}* przechodzi na [{=^# ml}] *syropu* dwa razy dziennie.
? Jaką dawkę przyjmuje {pet}?
M Zgodnie z twoim skanem *{event}* ma *zgodę na muzykę* do [{=1#:~5}].
+ Gmina poprawiła pismo: *{event}* gra z nową *zgodą na muzykę* do [{=2#:~5}].
? Do kiedy wolno grać ({event})?
M Na twojej liście *{car}* wozi [{=1# kamizelek}] odblaskowych, policzyłem.
+ Po zmianie przepisów *{car}* musi wozić [{=2# kamizelek}] odblaskowych.
? Ile odblasków ma na pokładzie {car}?
"""

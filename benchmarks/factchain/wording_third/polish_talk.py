"""Polish small talk of the third profile: the text around the facts. None of it is scored."""

TALK = """
Piszę z przystanku, {noise:tramwaj|dzwon|megafon} wtrąca się co chwilę.
Kawa z tego automatu powinna mieć ostrzeżenie na kubku.
{kin} nauczyła mnie gry w kości, przegrałem {=^#} rund pod rząd.
Nad rzeką stała mgła, prawdziwa pocztówka.
Skrzynka mówi, że {=+##} nieprzeczytanych, a ja udaję, że nie widzę.
Zupa wyszła mi taka, że można nią kleić kafelki.
Ktoś podgrzał śledzia w kuchni, piętro w żałobie.
Ze wszystkim jestem w tyle, ale w dobrym humorze.
Pies sąsiadki śpiewa z {thing:śmieciarką|syreną|radiem}.
Próba skończyła się późno, dzwoni mi w uszach.
Zamiast podatków posprzątałem spiżarnię, jak każe obyczaj.
{kin} przysięga, że widziała {bird:zimorodka|czaplę|myszołowa}, bez dowodów.
Przez {=^#} minut szukałem jednego przecinka.
Na klatce pachnie farbą i nikt nie wie czemu.
Notes wpadł do zlewu, odtwarzam pamięć z okruchów.
Znów tłumaczyłem ojcu, czym jest karta w przeglądarce.
Żyjemy resztkami z imprezy, głównie oliwkami.
Podobno śpię z dwoma budzikami i próbnym alarmem.
Dzieci zbudowały bazę ze wszystkich poduszek.
Pół zespołu ma grypę, drugie pół udaje zdrowe.
W przerwie siedziałem na ławce i patrzyłem na kłótnię kaczek.
To pora, gdy kupuję nasiona i ich nie sieję.
Klientka przysłała nam wiersz, i to rymowany.
Na moim laptopie testy przechodzą, a wiadomo, że to się liczy.
Deszcz na namiocie, herbata z termosu, bywa gorzej.
Winda stoi {=^} tygodni, mam łydki jak kolarz.
Przyjechała kanapa, nie mieści się w drzwiach, nikt się nie śmiał.
Wyrzucam tu z głowy wszystko, zanim ucieknie.
Pociąg stanął w szczerym polu i nikogo to nie zdziwiło.
Upiekłem chleb, wyszła cegła z charakterem.
Kot z trzeciego piętra adoptował mnie bez pytania.
Kupiłem parasol i zaraz wyszło słońce.
"""

ASK = """
Przekonuje cię to?
Widzisz jakiś haczyk?
Przejdziemy to razem?
Ułożysz to ładniej?
Głupia kolejność?
Od czego byś zaczęła?
Powiedz mi szczerze.
"""

REPLY = """
Dobrze, z tym da się pracować.
Ruszyłbym od tego, co blokuje innych.
To może poczekać na spokojniejszy dzień.
W dziewięciu przypadkach na dziesięć winny jest zasilacz.
Próba bez widowni mówi więcej niż każdy plan.
Jeśli instrukcje sobie przeczą, ufaj nowszej kartce.
Rośliny, jak ludzie, nie lubią pośpiechu.
Możesz to podzielić, trochę ty, trochę {kin}.
Test napisany przed zmianą bardzo pomaga.
Szczypta soli, o dziwo, podbija słodycz.
Trzymaj paragony w kopercie, podziękujesz sobie.
To kwestia gustu, a twój mi odpowiada.
Dokumentacja milczy, krótki eksperyment to najszybsza droga.
Niech ostygnie {=^#} minut przed krojeniem.
Gość z zadaniem to gość szczęśliwy, rozdziel role.
Nie wyjdzie idealnie i nie musi.
Hałasuje pewnie łożysko, kosztują grosze.
Co ma więcej niż {=^} lat, może iść na strych.
Sprawdziłbym też odtwarzanie, kopia nigdy nieotwarta to tylko nadzieja.
Poniżej {=^} lat zwykle jest za darmo, ale zapytaj.
Jedno wolne zapytanie obciąża całą stronę.
Żwir odprowadza wodę lepiej, niż się sądzi.
Instynkt dobrze podpowiada, druga opcja ryzykuje mniej.
Ciężkie rzeczy na dół, kruche na kolana.
Nikt nie każe odpisywać wszystkim dzisiaj.
Czasem najtańszą naprawą jest naklejka.
Wieczorem kolory wyglądają inaczej.
Jak potem zaskrzypi, wystarczy kropla oleju.
Ujmij to raczej jako pytanie.
Zmierz jeszcze raz przed wierceniem, ściany nigdy nie są proste.
Prześpij się z tym, oferta nie ucieknie.
"""

DECOYS = """
A gdyby było ich {=+##}, tak dla zabawy, też wzruszysz ramionami?
W powieści bohater chowa {=+###} monet w src/{pkg}/{src}.ex:{=+##}, no, prawie.
Wyobraź sobie stadion, {=^#} 000 ludzi nuci pod nosem, tak było.
Gdyby obcy dał ci {=^##} złotych za rower, też powiesz nie?
Za wzór posłużyłoby „{given} {family}, stolik {=^}”, wyłącznie dla układu strony.
Adresy w rodzaju https://sample.invalid/{=???###} zawsze mi śmierdzą.
"""

OPENERS = """
Po namyśle,
Z boku patrząc,
Między nami,
Z mojej strony,
"""

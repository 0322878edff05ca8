"""Units, currencies, months and weekdays (data): the words that make a number an exact value, in
seven languages.
"""

from __future__ import annotations

from collections.abc import Mapping

_UNITS = {
    "duration": """
        ms: ms millisecond milliseconds millisekunde millisekunden milliseconde milliseconden
        s: s sec secs second seconds sek sekunde sekunden seconde secondes segundo segundos secondo secondi seconden
        min: min mins minute minutes minuten minuto minutos minuti minuut
        h: h hr hrs hour hours stunde stunden std heure heures hora horas ora ore uur uren
        day: day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen werktage arbeitstage
        week: week weeks wk woche wochen semaine semaines semana semanas settimana settimane weken
        month: month months monat monate monaten mois mes meses mese mesi mês maand maanden
        year: year years yr yrs jahr jahre jahren an ans année années año años anno anni ano anos jaar jaren
        night: night nights nacht nächte nächten nuit nuits noche noches notte notti noite noites nachten""",
    "length": """
        mm: mm millimeter millimetre
        cm: cm centimeter centimetre zentimeter centimètres centímetros centimetri
        m: m meter meters metre metres mètre mètres metro metros metri
        km: km kilometer kilometers kilometre kilometres kilomètres kilómetros chilometri quilómetros
        in: inch inches zoll pouces pulgadas pollici
        ft: ft foot feet
        mi: mile miles meilen""",
    "area": """
        m2: m² m2 qm sqm quadratmeter
        km2: km² km2
        ha: ha hectare hectares hektar
        sqft: sqft""",
    "mass": """
        mg: mg
        g: g gr gram grams gramm gramme grammes gramos grammi grammo gramas
        kg: kg kilo kilos kilogram kilograms kilogramm chili chilo quilos
        t: t tonne tonnes tonnen tons
        lb: lb lbs pound pounds pfund
        oz: oz ounce ounces unzen""",
    "volume": """
        ml: ml milliliter millilitre
        cl: cl
        dl: dl
        l: l liter liters litre litres litro litros litri
        cup: cup cups tasse tassen tasses taza tazas tazze xícaras
        tbsp: tbsp tablespoon tablespoons el esslöffel cuillères cucharadas cucchiai eetlepels
        tsp: tsp teaspoon teaspoons tl teelöffel cucharaditas cucchiaini theelepels""",
    "data": """
        kb: kb kib
        mb: mb mib
        gb: gb gib
        tb: tb tib
        mbps: mbps mbit
        gbps: gbps gbit""",
    "physics": """
        w: w watt watts
        kw: kw kilowatt
        kwh: kwh
        wh: wh
        kwp: kwp
        v: v volt volts
        a: ampere amps
        mah: mah
        hz: hz
        khz: khz
        mhz: mhz
        ghz: ghz
        bar: bar
        kcal: kcal calories kalorien
        db: db
        lm: lm lumen
        px: px pixel pixels
        dpi: dpi
        rpm: rpm
        bpm: bpm
        kmh: km/h kph
        mph: mph""",
    "temperature": """
        c: °c ℃ celsius grad degrees degrés grados gradi graus graden
        f: °f fahrenheit""",
    "share": """
        %: % percent prozent pourcent porcento pct procent""",
    "money": """
        eur: € eur euro euros
        usd: $ usd us$ dollar dollars dólares dollari
        gbp: £ gbp quid
        chf: chf franken francs sfr
        jpy: ¥ jpy yen 円
        cny: cny rmb yuan 元
        krw: ₩ krw won 원
        inr: ₹ inr rupees
        sek: sek kronor
        nok: nok
        dkk: dkk
        pln: pln zł
        czk: czk kč
        brl: brl r$ reais
        mxn: mxn pesos
        cad: cad
        aud: aud
        rub: rub ₽ рублей
        cent: cent cents ct centimes céntimos centesimi""",
}

SCALES: Mapping[str, int] = {
    word: size
    for words, size in (
        ("k tsd tausend thousand mille mil mila duizend 千", 10**3),
        (
            (
                "m mio million millions millionen millón millones milione milioni milhão milhões "
                "mln miljoen 万"
            ),
            10**6,
        ),
        ("mrd bn billion billions milliarden milliards miliardi mld miljard 億", 10**9),
    )
    for word in words.split()
} | {"万": 10**4, "億": 10**8}
"""Words between a number and its unit that multiply it."""


def _units() -> dict[str, tuple[str, str]]:
    table = {}
    for dimension, lines in _UNITS.items():
        for line in lines.strip().split("\n"):
            short, _, words = line.strip().partition(": ")
            table.update(dict.fromkeys(words.split(), (short, dimension)))
    return table


UNITS: Mapping[str, tuple[str, str]] = _units()
"""A unit's word in small letters -> its short name and what it measures."""

MONTHS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "january jan januar jänner janvier enero ene gennaio janeiro januari",
            "february feb februar feber février févr febrero febbraio fevereiro februari",
            "march mar märz mrz mars marzo março maart",
            "april apr avril abril abr aprile",
            "may mai mayo maggio maio mei",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto ago augustus",
            "september sept sep septembre septiembre settembre setembro set",
            "october oct oktober okt octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for word in words.split()
}

WEEKDAYS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "monday mondays montag montags lundi lunes lunedì segunda-feira maandag",
            "tuesday tuesdays dienstag dienstags mardi martes martedì terça-feira dinsdag",
            (
                "wednesday wednesdays mittwoch mittwochs mercredi miércoles mercoledì "
                "quarta-feira woensdag"
            ),
            "thursday thursdays donnerstag donnerstags jeudi jueves giovedì quinta-feira donderdag",
            "friday fridays freitag freitags vendredi viernes venerdì sexta-feira vrijdag",
            "saturday saturdays samstag samstags sonnabend samedi sábado sabato zaterdag",
            "sunday sundays sonntag sonntags dimanche domingo domenica zondag",
        ),
        1,
    )
    for word in words.split()
}

MONTHS_ALONE = frozenset(
    word for word in MONTHS if len(word) > 4 and word not in ("march", "mars", "marzo")
) | {
    "juni",
    "juli",
    "juin",
    "june",
    "july",
}
"""Months that are one without a number beside them; the others are also other words."""

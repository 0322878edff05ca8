"""Cues (data) of French, Spanish, Italian and Portuguese; `cue_tables` says how they are
written.
"""

from __future__ import annotations

FRENCH = """
decision: on/nous a/avons/avait décidé/choisi/opté/convenu/retenu, j ai décidé/choisi/opté/pris
decision: on prend/garde/fait/part/reste/utilise/choisit/va/achète/réserve/met
decision: nous prenons/gardons/utilisons/partons/restons/choisissons/achetons/réservons/allons, c est décidé, décision
decision: le choix, retenu/retenue/retenus, finalement on, je prends/garde/choisis/préfère, allons y pour, partons sur
decision: part sur, restons sur, reste sur, prenons, gardons, utilisons, ce sera, tranché, d accord pour, convenu
decision: opte/optons pour, va pour, va utiliser/prendre/garder/faire, accepté, acceptons
rule: interdit, interdite, ne * pas * sans, pas * avant/sans, seulement après/si/quand/avec, uniquement, en aucun cas
rule: sous aucun prétexte, ne doit/doivent/faut/peut/peuvent * pas/jamais, ne doit/doivent/faut/peut/peuvent/dois
rule: sans * accord/autorisation/permission/demander/validation, demander/demande/demandez * avant/abord, personne ne
rule: surtout pas, obligatoire, obligatoirement, impérativement, doit/doivent toujours/être/rester
rule: il faut toujours/absolument/impérativement, au moins, au maximum, pas question, ^ ne, ^ n, ^ pas de
rule: ^ aucun/aucune, exclusivement, systématiquement, veille/veillez à, ^ pas d, chaque fois, à chaque fois
rule: laisse/laissez * de côté
rejected: écarté, écartée, écartés, abandonné, abandonnée, rejeté, rejetée, exclu, exclue, éliminé, laissé tomber
rejected: laisse/laissons tomber, hors de question, pas une option, n est plus une option, renoncé
rejected: ne marche/fonctionne/marchait/fonctionnait/convient/convenait pas, n a pas marché/fonctionné/convenu
rejected: pas * parce/car, on oublie, essayé * mais, n irons/irai/ira pas, ne prend/prenons/prendra pas
rejected: a refusé/refusée, pas retenu/retenue, on ne prend/veut/fait/garde pas, envisagé * mais, tombé à l eau
rejected: ne vaut pas, c est mort, est mort/morte, abandonne/abandonnons, tombe à l eau, recalé, recalée, refusé
rejected: pas intéressé/intéressée/intéressés, n en veux/voulons plus
task: il faut encore, il reste à, reste à, dois/devons/doit/doivent encore/aussi, faut * avant/encore, à faire
task: pas encore, rappelle moi, n oublie pas de, n oubliez pas, en attente, il me/nous reste, manque encore, penser à
task: pense à, reste encore, avant lundi/mardi/mercredi/jeudi/vendredi/samedi/dimanche, d ici, prochaine étape
task: attends/attendons, toujours pas, toujours rien, promis de, à moi de, c est à moi/nous
done: fait, faite, fini, finie, terminé, terminée, réglé, réglée, c est bon, payé, payée, envoyé, envoyée, réservé
done: réservée, commandé, commandée, résolu, résolue, corrigé, déjà, rendu, rendue, rendus, résilié, appelé, signé
done: renouvelé, déposé, acheté
update: maintenant, désormais, plutôt, finalement, au lieu, à la place, ne * plus, n est plus, changé, change, modifié
update: déplacé, déplacée, reporté, reportée, repoussé, avancé, avancée, correction, en fait
update: passe/passé/passée/passent * à, dorénavant, rectification, je voulais dire, augmenté, baissé, réduit, réduite
update: remplacé, remplacée, remplace, nouveau/nouvelle/nouvel * est, mais, a changé, passons/passer à, prolongé
update: non pas * mais, mets/mettons plutôt, non attends, enfin, pardon, mieux vaut, passera, plus que
update: depuis hier/cette/ce/aujourd, à partir de/du, ne compte plus, corrigé/corrigée/révisé/révisée
update: ancien/ancienne somme/chiffre/prix/valeur/date, ont augmenté/baissé/changé, descendu/monté/passé à, a grandi
reason: parce, car, puisque, afin, pour que, à cause, grâce, comme, vu que, étant donné, raison, sinon
maybe: et si, imaginons, imagine, supposons, par exemple, p.ex, hypothèse, disons, serait, quelque chose comme
ask: ^ donne moi, ^ donnez moi, ^ écris, ^ écrivez, ^ montre, ^ liste, ^ explique, ^ expliquez, ^ dis moi, ^ résume
ask: ^ traduis, ^ peux/pouvez/pourrais/pourriez tu/vous, ^ tu peux, ^ aide, ^ rédige, ^ propose, ^ fais moi, ^ compare
ask: ^ quel/quelle/quels/quelles, ^ comment, ^ qu est, ^ est ce, ^ crée, ^ génère, ^ suggère, ^ cherche, ^ trouve
ask: ^ peux/pouvez
note: retiens, retenez, souviens, note que, notez, rappel, garde/gardez en tête, pour info, n oublie/oubliez pas que
note: à savoir, sache/sachez, il faut savoir, tu dois savoir, vous devez savoir, bon à savoir, à retenir, à noter
note: rappelle moi, rappelez moi
health: allergique, allergie, intolérant, intolérante, intolérance, végétarien, végétarienne, végane, cœliaque
health: diabétique, asthme, enceinte
person: s appelle, nommé, nommée, est mon/ma/notre/le/la, mon/ma/notre * est/s, responsable, s occupe, contact
person: interlocuteur, interlocutrice
idle: pas de problème, pas de souci, ne t inquiète pas, ne vous inquiétez pas, je ne sais pas, sais pas, comme toujours
idle: pas du tout, pas mal, pas grave, n hésite pas, n hésitez pas, il faut dire, tu dois, vous devez, tout fait
idle: tout à fait, ai jamais, jamais été, toujours aimé, toujours eu, pas vraiment, est/sont/était toujours, si tu as
idle: si vous avez, dois y aller, dois filer/partir, ai toujours aimé/voulu/été/eu/pensé, n est/ai/a/était/avait, n en
hedge: pourrait, pourraient, peut être, en général, généralement, habituellement, en moyenne, on peut, vous pouvez
hedge: tu peux, souvent, je recommande, je conseille, je te/vous conseille/recommande, tu devrais, vous devriez, entre
hedge: il vaut
choice: on/nous va/allons/veut/voulons/met/mettons/loue
choice: on/nous louons/paie/payons/envoie/envoyons/peint/peignons/cuisine, je vais/veux/mets/loue/paie, sera, seront
choice: ce sera, on va, on fait, nous allons
swap: au lieu, à la place, ne * plus, n est plus, plutôt que, remplacé, remplacée, remplace, remplaçons, changé d avis
swap: non pas * mais, passe/passons/passé à, n * plus, finalement * pas
ever: jamais, toujours
excess: trop
duty: je dois, nous devons, on doit, il faut que, il faudra, il faut
"""

SPANISH = """
decision: hemos decidido/elegido/optado/acordado/quedado, decidimos/elegimos/optamos/acordamos/quedamos
decision: he decidido/elegido/optado, decidí/elegí/opté, vamos con/por, nos quedamos con, me quedo con
decision: usaremos/usamos/utilizaremos/cogemos/tomamos/compramos/compraremos/reservamos/iremos/haremos/pondremos
decision: vamos a usar/coger/tomar/comprar/ir/hacer/poner/reservar, decisión, decidido, acordado, queda decidido
decision: prefiero/preferimos, será, a partir de ahora, apostamos por, la elección, elegido, elegida
decision: escogimos/escogido, seguimos con, optamos por, aceptamos, aceptado, hemos aceptado
rule: prohibido, prohibida, no se debe/puede/permite, no debe/deben/puede/pueden, bajo ningún, de ninguna manera
rule: solo/sólo/únicamente después/cuando/si/con/tras, no * sin
rule: sin permiso/autorización/preguntar/consultar/aprobación
rule: pregunta/preguntar/consulta/pregúntame/consúltame * antes, nadie puede/debe, obligatorio, hay que * siempre
rule: tiene/tienen que ser/estar, debe/deben ser/estar/ir/siempre, como máximo, como mínimo, al menos, ^ no, ^ nada de
rule: sin excepción, evita, asegúrate, cada vez que, siempre que, deja/dejad * fuera
rejected: descartado, descartada, descartamos, descarté, rechazado, rechazada, rechazamos, desechado, abandonado
rejected: no funcionó/funciona/sirve/sirvió/vale/convence, ni hablar, no es * opción, fuera de, no * porque
rejected: hemos descartado, ya no es opción, no vamos a usar/ir/coger/hacer, probamos/probé * pero, pensamos * pero
rejected: renunciamos, dejamos de lado, no merece, no nos convence
rejected: queda/quedó/quedan descartado/descartada/descartados, pensado * pero, probado * pero
rejected: descartado/descartada/descartados, queda/quedan fuera, no va a poder ser, cancelado, no me/nos interesa
rejected: dijo que no, dijeron que no
task: todavía/aún hay/tengo/tenemos/falta/faltan/queda/quedan, queda/quedan/falta/faltan por, queda/falta, pendiente
task: pendientes, recuérdame, no olvides/olvidar/olvidéis, no te olvides, por hacer, hace falta, todavía/aún no
task: antes del lunes/martes/miércoles/jueves/viernes/sábado/domingo, siguiente paso, esperando
task: estoy/estamos a la espera, habría que, me falta, nos falta, he prometido, prometí, me toca, nos toca
done: hecho, hecha, listo, lista, terminado, terminada, acabado, resuelto, resuelta, pagado, pagada, enviado, enviada
done: reservado, reservada, comprado, comprada, solucionado, ya está/he/hemos/ha/han, devuelto, cancelado, llamado
done: firmado, renovado, entregado, devolví, pagué, llamé, envié, compré, reservé, cancelé
update: ahora, en lugar, en vez, ya no, cambiado, cambió, cambia, cambiamos, cambio, movido, pasa/pasó/pasado * a
update: aplazado, aplazada, retrasado, adelantado, corrección, mejor, en realidad, finalmente, al final, a partir de
update: sino, subido/bajado, subió/bajó, sube/baja a, reducido, ampliado, sustituido, reemplazado, nuevo/nueva * es
update: quería decir, me equivoqué, rectifico, actualizado, de * a, no espera, perdón, perdona
update: desde ayer/hoy/esta/este, corregido/corregida/revisado/revisada, ya no vale/cuenta/es
update: suma/cifra/precio/fecha anterior, no vale, han/cambiaron/subieron/bajaron subido/bajado/cambiado/el/la
update: cambiaron, subieron, bajaron, ha crecido
reason: porque, ya que, puesto que, para que, debido, por eso, así que, dado que, como, pues, gracias a, motivo, razón
maybe: y si, supongamos, imagina, imaginemos, por ejemplo, p.ej, digamos, sería, algo como
ask: ^ dame, ^ escribe, ^ muestra, ^ muéstrame, ^ lista, ^ explica, ^ explícame, ^ dime, ^ resume, ^ traduce
ask: ^ puedes/podrías/puede/podría, ^ me puedes, ^ ayúdame, ^ redacta, ^ propón, ^ hazme, ^ compara, ^ crea, ^ genera
ask: ^ sugiere, ^ busca, ^ qué, ^ cómo, ^ cuál
note: recuerda, recuerde, ten en cuenta, tenga en cuenta, anota, apunta, para que conste, que sepas, no olvides que
note: debes saber, tienes que saber, recuérdame, recuérdanos
health: alérgico, alérgica, alergia, intolerante, intolerancia, vegetariano, vegetariana, vegano, vegana, celíaco
health: celíaca, celiaca, diabético, diabética, asma, embarazada
person: se llama, llamado, llamada, es mi/nuestro/nuestra/el/la, mi/nuestro/nuestra * es/se, responsable, encargado
person: encargada, se encarga, se ocupa, contacto
idle: no hay problema, no te preocupes, no pasa nada, no sé, no se preocupe, como siempre, no creo, no dudes, sin duda
idle: tienes que, debes, no solo, hay que decir, nunca he, nunca fui, siempre he, siempre me, no realmente
idle: está/es/son siempre, siempre es/está, si necesitas, tengo que irme/ir, hay que ver
idle: no he/has/ha/hemos/han/es/son/está/están/sé/me/te/tengo/puedo/creo/quiero/hay/había/fue/era/tiene/dormí
hedge: podría, podrían, tal vez, quizá, quizás, en general, normalmente, generalmente, de media, se puede, puedes
hedge: usted puede, suele, suelen, recomiendo, te/le recomiendo, deberías, debería, entre, es mejor, lo mejor
choice: queremos/vamos/usamos/alquilamos/pagamos/pintamos/preferimos/compramos/ponemos/dejamos, será, serán, vamos
choice: iremos
swap: en lugar, en vez, ya no, sino, sustituido, reemplazado, sustituimos, cambiado de, cambiamos a/de, pasamos a
swap: cambiado * a
ever: nunca, jamás, siempre
excess: demasiado, demasiada, pesa/cuesta/tarda demasiado
duty: tengo/tenemos/tiene/hay que, debo/debemos
"""

ITALIAN = """
decision: abbiamo deciso/scelto/optato/concordato/stabilito, ho deciso/scelto/optato
decision: prendiamo/usiamo/teniamo/andiamo/useremo/prenderemo/compriamo/facciamo/restiamo/prenotiamo, andiamo con/su
decision: decisione, si è deciso, deciso, preferisco/preferiamo, sarà, resta/rimane deciso, d ora in poi, la scelta
decision: scelto, scelta, optiamo, ci siamo accordati, siamo d accordo, useremo, puntiamo su, si va con, accettato
decision: accettiamo
rule: vietato, vietata, non si deve/può/devono/possono, non deve/devono/può/possono, in nessun caso, per nessun motivo
rule: assolutamente, solo/soltanto dopo/se/quando/con, non * senza/prima
rule: senza permesso/autorizzazione/chiedere/approvazione, chiedi/chiedere/chiedimi/chiedete * prima, nessuno può/deve
rule: obbligatorio, deve/devono essere/restare/sempre, al massimo, almeno, ^ non, ^ niente, ^ nessun/nessuna
rule: senza eccezioni, evita, assicurati, ogni volta, ogni volta che, lascia/lasciate * fuori
rejected: scartato, scartata, scartati, scartiamo, escluso, esclusa, rifiutato, respinto, abbandonato, bocciato
rejected: bocciata, non ha funzionato, non funziona/funzionava/va/conviene/convince, fuori questione, non se ne parla
rejected: non è * opzione, non * perché, provato * ma, pensato * ma, rinunciato, rinunciamo, lasciamo perdere, saltato
rejected: non useremo/prenderemo/andremo, non vale, da escludere, da scartare, è/sono fuori, bocciamo, lasciato perdere
rejected: lasciata perdere, non mi/ci interessa, ha detto di no
task: devo/dobbiamo/deve/devono ancora, ancora da, resta/restano da, rimane/rimangono da, manca/mancano, da fare
task: in sospeso, ricordami, non dimenticare di, ricordati di, ho/abbiamo da, non * ancora, c è da
task: entro lunedì/martedì/mercoledì/giovedì/venerdì/sabato/domenica/domani, prossimo passo, aspetto, aspettiamo
task: in attesa, occorre, serve ancora, ho promesso, tocca a me/noi, mi tocca
done: fatto, fatta, finito, finita, terminato, risolto, risolta, pagato, pagata, inviato, inviata, spedito, prenotato
done: prenotata, comprato, comprata, completato, già, sistemato, restituito, restituiti, disdetto, chiamato, firmato
done: rinnovato, consegnato
update: ora, adesso, invece, al posto, non * più, cambiato, cambiata, cambia, cambiamo, spostato, spostata, rinviato
update: rinviata, anticipato, correzione, anzi, piuttosto, in realtà, alla fine, d ora, bensì, aumentato, aumentata
update: ridotto, ridotta, portato a, sale/scende/salito/sceso a, passa/passato/passata a, sostituito, sostituita
update: nuovo/nuova * è, volevo dire, mi sono sbagliato, mi sbagliavo, aggiornato, da * a, no aspetta, scusa, meglio
update: pardon, da ieri/oggi/questa/questo, a partire da/dal, non conta/vale più, corretto/corretta/rivisto/rivista
update: vecchia/vecchio somma/cifra/prezzo/data, hanno aumentato/cambiato/alzato/ridotto, è cresciuto/cresciuta
reason: perché, siccome, poiché, dato che, visto che, così, affinché, a causa, per questo, quindi, motivo, grazie
reason: altrimenti
maybe: e se, supponiamo, immagina, mettiamo, per esempio, ad esempio, diciamo, sarebbe, qualcosa come
ask: ^ dammi, ^ scrivi, ^ mostra, ^ mostrami, ^ elenca, ^ spiega, ^ spiegami, ^ dimmi, ^ riassumi, ^ traduci
ask: ^ puoi/potresti/può/potrebbe, ^ mi puoi, ^ aiutami, ^ prepara, ^ proponi, ^ fammi, ^ confronta, ^ crea, ^ genera
ask: ^ suggerisci, ^ cerca, ^ come, ^ cosa, ^ quale
note: ricorda, ricordati che, tieni presente, tieni a mente, nota, annota, per la cronaca, sappi, non dimenticare che
note: segnati, devi sapere, da ricordare, da sapere, ricordami, ricordaci
health: allergico, allergica, allergia, intollerante, intolleranza, vegetariano, vegetariana, vegano, vegana, celiaco
health: celiaca, diabetico, diabetica, asma, incinta
person: si chiama, di nome, è mio/mia/nostro/nostra/il/la, mio/mia/nostro/nostra * è/si, responsabile, si occupa
person: contatto, referente
idle: nessun problema, non preoccuparti, non ti preoccupare, non so, figurati, come sempre, non credo, non esitare
idle: devi, dovresti, non solo, da sempre, a proposito, non ho mai, sono mai, ho sempre, non proprio, è/sono sempre
idle: se hai bisogno, fammi sapere, devo andare/scappare
idle: non ho/hai/ha/abbiamo/hanno/è/sono/so/mi/ti/posso/credo/voglio/c/ci/era/vedo
hedge: potrebbe, potrebbero, forse, magari, in genere, di solito, generalmente, normalmente, in media, si può, puoi
hedge: potete, spesso, consiglio, ti/vi consiglio, dovresti, dovreste, tra, è meglio, conviene
choice: vogliamo/andiamo/usiamo/affittiamo/paghiamo/compriamo/mettiamo/lasciamo/preferiamo, sarà, saranno, si va, si fa
swap: al posto, invece, non * più, sostituito, sostituiamo, cambiato idea, passiamo a, anziché, bensì
ever: mai, sempre
excess: troppo, troppa
duty: devo, dobbiamo, bisogna
"""

PORTUGUESE = """
decision: decidimos/escolhemos/optamos/combinamos/acordamos, decidi/escolhi/optei, vamos com/de/por, ficamos com
decision: fico com, usaremos/usamos/vamos usar/ficar/comprar/fazer/reservar/pôr, decisão, decidido, combinado
decision: está decidido, prefiro/preferimos, a partir de agora, a escolha, escolhido, escolhida, será
decision: ficou decidido/combinado/acertado, continuamos com, seguimos com, resolvemos
rule: proibido, proibida, não se deve/pode, não deve/devem/pode/podem, em nenhuma, de modo nenhum, de jeito nenhum
rule: só/somente/apenas depois/quando/se/com/após, não * sem, sem permissão/autorização/perguntar/aprovação
rule: pergunta/pergunte/perguntar/consulte * antes, ninguém pode/deve, obrigatório, deve/devem ser/estar/ficar/sempre
rule: tem que ser, no máximo, no mínimo, pelo menos, ^ não, ^ nada de, ^ nenhum, sem exceção, evita, evite
rule: certifica/certifique, cada vez que, sempre que, deixa/deixe * de fora
rejected: descartado, descartada, descartamos, descartei, rejeitado, rejeitada, rejeitamos, abandonado, excluído
rejected: desistimos, desisti, não funcionou/funciona/serve/deu/dá, fora de questão, não é * opção, não * porque
rejected: pensamos * mas, tentamos * mas, não vamos usar/fazer/comprar/ficar, deixamos de lado, não vale, não compensa
rejected: posto/posta de parte, está/estão fora
task: ainda preciso/precisamos/tenho/temos/falta/faltam/há, falta/faltam, pendente, pendentes, lembra-me, lembre-me
task: lembra/lembre me, não esquecer/esqueças/esqueça, por fazer, a fazer, ainda não
task: até segunda/terça/quarta/quinta/sexta/sábado/domingo/amanhã, próximo passo, à espera, esperando, é preciso
done: feito, feita, pronto, pronta, terminado, concluído, concluída, acabado, resolvido, resolvida, pago, paga, enviado
done: enviada, reservado, reservada, comprado, comprada, já está/fiz/paguei/enviei/comprei/reservei/liguei, devolvi
done: paguei, liguei, enviei, comprei, reservei, cancelei, assinei, entreguei, renovei
update: agora, em vez, ao invés, já não, não * mais, mudou, mudado, muda, mudamos, passou/passa a/para, adiado, adiada
update: antecipado, correção, aliás, afinal, na verdade, a partir de, mas sim, aumentado, aumentou, reduzido, baixou
update: subiu, alterado, alterada, substituído, novo/nova * é, queria dizer, enganei, atualizado, de * para, remarcado
update: remarcada, não espera, desculpa, melhor, quer dizer
reason: porque, pois, já que, visto que, para que, devido, por isso, dado que, como, motivo, razão, graças, senão
maybe: e se, suponhamos, suponha, imagina, imagine, por exemplo, digamos, seria, algo como
ask: ^ dá-me, ^ me dê, ^ dê, ^ dá, ^ escreve, ^ escreva, ^ mostra, ^ mostre, ^ lista, ^ liste, ^ explica, ^ explique
ask: ^ diz, ^ diga, ^ resume, ^ resuma, ^ traduz, ^ traduza, ^ podes/pode/poderia/podias, ^ ajuda, ^ ajude, ^ faz
ask: ^ compara, ^ compare, ^ cria, ^ crie, ^ sugere, ^ sugira, ^ como, ^ qual, ^ quais, ^ o que
note: lembra-te, lembra te, lembre-se, lembre se, lembra que, lembre que, tem em conta, tenha em conta, anota, anote
note: para constar, fica a saber, não esqueças que, lembra me, lembre me
health: alérgico, alérgica, alergia, intolerante, intolerância, vegetariano, vegetariana, vegano, vegana, celíaco
health: celíaca, diabético, diabética, asma, grávida
person: chama-se, chama se, se chama, é meu/minha/nosso/nossa/o/a, meu/minha/nosso/nossa * é/chama, responsável
person: trata de, encarregado, encarregada, contato, contacto
idle: não há problema, sem problema, não te preocupes, não se preocupe, não sei, como sempre, não acho, não hesite
idle: sem dúvida, tens de, você deve, não só, nunca fui, nunca tinha, sempre gostei, sempre quis, não muito
idle: é/são/está sempre, se precisar, se precisares, tenho de/que ir
idle: não tenho/é/está/há/posso/quero/me/era/foi/dormi/gosto
hedge: poderia, poderiam, talvez, em geral, normalmente, geralmente, em média, pode se, podes, você pode, costuma
hedge: recomendo, aconselho, deverias, deveria, entre, é melhor
choice: queremos/vamos/usamos/alugamos/pagamos/compramos/pomos/deixamos/preferimos, será, vai ser, vamos, iremos
swap: em vez, ao invés, já não, não * mais, substituído, substituímos, mudámos/mudamos para/de, mas sim, mudado de
ever: nunca, jamais, sempre
excess: demasiado, demais, muito caro/cara/lento/lenta/longe/pesado/grande/barulhento/complicado
duty: tenho/temos/tem/há que/de, preciso/precisamos/devo/devemos
"""

"""French small talk of the unseen profile: the text around the facts. None of it is scored."""

TALK = """
Bonjour depuis le siège passager, on est coincés derrière {slow:un tracteur|une caravane|des moutons}.
Je tape avec un pouce, l'autre a rencontré le couteau à pain.
Le chauffage est revenu et ma bonne humeur avec.
{kin} m'a appris un jeu de cartes, j'ai perdu {=^#} manches de suite.
Il y avait du brouillard sur les champs, on aurait dit un film.
Ma boîte annonce {=+##} non lus et je refuse d'y croire.
Mon risotto aurait pu servir d'enduit.
Quelqu'un a réchauffé du poisson au bureau, l'étage est en deuil.
Je suis en retard partout, mais de bonne humeur.
Le chien d'en face hurle avec {noise:le glacier|les cloches|les éboueurs}.
La répétition a fini à onze heures, j'ai encore les oreilles qui sifflent.
J'ai récuré la cuisine au lieu de faire mes impôts, comme le veut la tradition.
{kin} jure avoir vu {bird:un martin-pêcheur|un héron|une buse}, sans preuve évidemment.
La chaîne a mis {=^#} minutes à me dire qu'il manquait une virgule.
Ça sent le vernis dans l'escalier et personne ne sait pourquoi.
Mon carnet est tombé dans l'évier, je reconstitue mon cerveau.
J'ai expliqué deux fois à mon père ce qu'est un onglet.
On vit des restes de la fête, des olives surtout.
Apparemment je dors malgré deux réveils et un exercice d'alerte.
Les enfants ont bâti une cabane avec tous les coussins.
La moitié de la troupe a la grippe, l'autre fait semblant que non.
À midi j'étais sur un banc à regarder des canards se disputer.
C'est la saison où j'achète des graines que je ne sème jamais.
Une cliente nous a écrit un poème, et ça rime.
Les tests passent sur mon portable, c'est bien connu que ça suffit.
La pluie sur la tente, le thé du thermos, il y a pire.
L'ascenseur est en panne depuis {=^} semaines, mes mollets sont superbes.
Le canapé est là, il ne passe pas la porte, personne n'a ri.
Je vide ma tête avant que tout ne s'échappe.
"""

ASK = """
Ça te parle ?
Tu vois un piège ?
On le parcourt ensemble ?
Tu me remets ça au propre ?
C'est bête, dans cet ordre ?
Tu attaquerais par où ?
Dis-moi franchement.
"""

REPLY = """
Bien, avec ça je peux travailler.
Je prendrais d'abord ce qui bloque les autres.
Rien n'empêche de garder ça pour un jour plus calme.
Neuf fois sur dix c'est l'adaptateur.
Une répétition sans public en dit plus que n'importe quel plan.
Si les notices se contredisent, crois la plus récente.
Les abeilles, comme les gens, n'aiment pas la hâte.
Tu peux en faire une part pour toi et une pour {kin}.
Écrire le test avant de toucher à quoi que ce soit aide souvent.
Une pincée de sel relève le sucre, curieusement.
Garde les tickets dans une enveloppe, tu te remercieras.
C'est une affaire de goût et le tien me va.
La documentation n'en dit rien, un petit essai ira plus vite.
Laisse refroidir {=^#} minutes avant de couper.
Un invité utile est un invité heureux, distribue les tâches.
Ce ne sera pas parfait, et ce n'est pas nécessaire.
Le bruit vient sans doute d'un roulement, ça ne coûte rien.
Tout ce qui a plus de {=^} ans peut monter au grenier.
Je testerais aussi la restauration, une copie jamais ouverte n'est qu'un espoir.
Avant {=^} ans on voyage souvent gratis, mais demande.
Une seule requête lente rend toute la page pénible.
Le gravier draine mieux qu'on ne croit.
Ton instinct est bon, la seconde option risque moins.
Le lourd en bas, le fragile sur les genoux.
Personne ne t'oblige à répondre à tous le même jour.
Parfois la réparation la moins chère est une étiquette.
Le soir, les couleurs changent.
S'il grince encore, une goutte d'huile suffit.
Tourne-le plutôt en question.
Reprends la mesure avant de percer, les murs sont rarement droits.
La nuit porte conseil, l'offre ne s'envolera pas.
"""

DECOYS = """
Et si c'était {=+##}, pour le jeu, tu hausserais aussi les épaules ?
Dans le roman le héros cache {=+###} pièces dans lib/{pkg}/{src}.ts:{=+##}, enfin presque.
Imagine un stade de {=^#} 000 personnes qui fredonnent, voilà l'ambiance.
Si un inconnu t'offrait {=^##} euros de ton vélo, tu refuserais aussi ?
Comme modèle, « {given} {family}, table {=^} », rien que pour la mise en page.
Les liens du style https://sample.invalid/{=???###} me paraissent toujours louches.
"""

OPENERS = """
À la réflexion,
Vu de loin,
Soit dit entre nous,
Pour ma part,
"""

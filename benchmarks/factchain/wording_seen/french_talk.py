"""French small talk of the seen profile: the text around the facts. None of it is scored."""

TALK = """
Il pleut depuis {day} et le linge ne sèche pas.
J'ai mal dormi, alors pardonne-moi si c'est un peu décousu.
Les voisins refont {what:leur toit|leur allée|leur cheminée} et le bruit commence avant sept heures.
{who} te passe le bonjour, on a mangé {food:une soupe|des crêpes|un rôti|des raviolis} et parlé pendant des heures.
J'ai cherché mes lunettes toute la matinée, elles étaient sur ma tête.
C'était calme au bureau, la plupart sont encore en congé.
Dimanche on a fait {=1#} {=###} pas dans {town} et j'ai encore mal aux pieds.
J'ai {drink:un thé|un café|un chocolat} à côté de moi et une heure de tranquillité.
La nouvelle boulangerie du coin est correcte, mais les pains sont minuscules.
Il y avait encore {=+#} personnes devant moi à la poste.
Je pose beaucoup de questions, je sais, mais écrire m'aide à voir clair.
Le train avait du retard, j'ai lu {=+#} pages du roman dont tu parlais.
{who} est enrhumé et je sens que ma gorge commence aussi.
On a enfin vu le film dont tout le monde parle, je me suis endormie au milieu.
La compilation est restée rouge presque tout l'après-midi, surtout à cause des machines.
J'ai relu les journaux avec un sandwich à la main, rien d'étrange.
Les relectures durent une éternité en ce moment, chacun a sa branche.
Je trouve toujours les noms de ce module un peu malheureux, question de goût.
La plante du bureau a perdu une feuille, il en reste {=^}.
Le jardin est sauvage, mais les abeilles ont l'air contentes.
J'ai essayé ton astuce du chiffon humide, c'était étonnamment efficace.
En rentrant je suis tombée sur {who}, on ne s'était pas vus depuis {=^} ans.
Les prix sont fous, presque {=^} euros pour {small:un chou-fleur|un pot d'olives|un bouquet de menthe}.
J'aimerais régler ça avant le week-end, sinon j'y pense sans arrêt.
La chatte a décidé que les cartons lui appartenaient.
Rien d'urgent ici, je range mes notes et je réfléchis à voix haute.
C'est une de ces semaines où tout tombe le même jour.
Papi a rappelé pour raconter l'histoire {story:de l'oie|du tracteur|de la valise} une fois de plus.
On reçoit {day}, l'appartement doit être à peu près présentable.
L'appli météo annonçait du soleil, il a grêlé pendant {=1#} minutes.
Je repousse ça depuis des semaines, contente qu'on s'y mette ensemble.
Je voulais aller courir, mais le canapé a gagné.
"""

ASK = """
Qu'en penses-tu, ça te paraît raisonnable ?
Tu peux me remettre ça dans l'ordre ?
Est-ce que j'ai oublié quelque chose ?
Comment t'y prendrais-tu ?
Tu peux m'écrire deux ou trois phrases à envoyer à {who} ?
Il y a plus simple ?
Quelle serait la suite logique ?
Ça colle avec ce qu'on disait tout à l'heure ?
"""

REPLY = """
Ça paraît raisonnable, j'avancerais par petites étapes.
Merci pour les détails, l'ensemble devient bien plus clair.
Pour l'extérieur, mieux vaut attendre une journée sèche.
En général, la solution la plus simple est celle qu'on comprend encore un an après.
J'écrirais d'abord à {who}, tout le reste dépend de la réponse.
Il y a souvent deux ou trois façons de faire, la différence est surtout dans l'effort.
Pour le reste tu peux prendre ton temps, rien ne s'abîme.
Un petit mot à tout le monde évite souvent une longue discussion.
S'il pleut {day}, tu feras la partie intérieure sans rien perdre.
Je regarderais les journaux autour de ce moment avant de toucher aux réglages.
La plupart des outils proposent cette option, les menus changent seulement de nom.
Ça aide de le faire une fois à la main, on voit où passe le temps.
Essaie d'abord sur un petit échantillon, puis sur tout.
Beaucoup de gens butent là-dessus, ne te décourage pas.
Dans une pièce au nord, un blanc chaud est souvent plus accueillant.
Laisse reposer la pâte une nuit au frais si elle colle aux mains.
On sous-estime presque toujours le temps de ponçage.
Un ton aimable marche mieux qu'une longue liste d'articles.
Je peux en faire un message si tu veux.
L'ordre importe peu, sauf que la prise de mesures vient en premier.
Une photo avant ne coûte rien, juste pour comparer.
Si le premier essai rate, le deuxième réussit souvent après {=^#} minutes.
À deux, ça va beaucoup plus vite.
Ça dépend aussi un peu de la saison, bien sûr.
D'après ta description, la cause est plutôt dans la configuration que dans le code.
Un index n'aide ici que si la requête filtre vraiment sur cette colonne.
L'ancienne page peut rester encore un moment, sans souci.
Environ {=^} cas sur dix viennent du câble.
Les enfants aimeront sans doute plus le trajet que le musée.
À {town} ils avaient quelque chose de semblable l'an dernier.
Je comprends l'agacement, ces formulaires ne sont pas faits pour les humains.
Autant que je puisse voir, rien d'autre n'en dépend.
Dans le doute, demande une confirmation écrite.
Les deux variantes conviennent, prends celle qui ressemble le moins à du travail.
"""

DECOYS = """
Si la pièce faisait {=^},{=#} mètres de plus, on mettrait un canapé, mais ce n'est pas le cas.
Mettons que quelqu'un prenne {=1##} euros de l'heure, ce serait normal par ici ?
Un fichier du genre src/{mod}/{file}_vieux.py:{=+##} serait introuvable, en théorie.
Imagine qu'on ait {=+##} utilisateurs d'un coup, ce qui n'est pas le cas, ça changerait quelque chose ?
Dans le film, le coffre avait la combinaison {=+###}, personne ne devinait.
Une adresse de ce type ressemble à https://example.org/{=???}/{=###}, juste pour montrer.
Au quiz ils demandaient la hauteur d'une tour, c'était {=3##} mètres.
"""

OPENERS = """
Franchement,
En général,
D'expérience,
À mon avis,
"""

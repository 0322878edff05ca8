"""French facts of the seen profile: the author of the extractor may look at failures here."""

SLOTS = """
who: Camille, Hugo, Léa, Mathis, Zoé, Jules, Manon, Théo
first: Agnès, Bruno, Chantal, Didier, Élise, Gérard, Sylvie, Thierry
last: Arnoux, Bellanger, Chevrier, Delmas, Fournel, Guillot, Lacombe, Maurin, Pelletier, Rousselin
day: lundi, mardi, mercredi, jeudi, vendredi, samedi
month: mars, avril, mai, juin, septembre, octobre, novembre
shop: Bricoland, Menuiserie Roche, Castel, Point Déco
town: Annecy, Vannes, Cahors, Honfleur, Sarlat
env: la préprod, la production, le bac à sable, la démo
plant: tomates, courgettes, framboises, pivoines
part: relances, verrous, caches, pages
bug: boucle de connexion, fuite de mémoire, page blanche, mail en double
damage: dégât des eaux, bris de vitre, vol de vélo, dommage de grêle
club: aviron, échecs, tennis, chorale
"""

LABELS = """
decision: Décision, Décidé
rule: Règle, Important
task: À faire, Rappel
other: Note, À retenir, Pour mémoire
"""

LEADS = """
Ah oui,
Au fait,
D'ailleurs,
Sinon,
"""

NUMBER = """
U La *chaudière* {house:de la cave|du gîte|de l'atelier|de l'annexe} ne tourne bien qu'à [1,{=#} bar], au-dessus la
  soupape se met à goutter.
? Quelle pression convient au chauffage {house} ?
U La kiné veut que *{who}* tienne *{move:la planche|le pont|la chaise|la fente}* pendant [{=+#} secondes], trois fois
  par jour.
? Combien de temps {who} doit rester en position ?
U On a ramené le *délai* sur *{env}* à [{=+##} ms], parce que tout faisait la queue derrière.
? Au bout de combien une requête est coupée sur {env} ?
U Pour *{bread:le pain de seigle|la fougasse|la brioche|la pizza}* j'ai fini par mettre [{=+##} g] de levain, un peu
  plus que dans le livre.
? Quelle quantité de ferment va dans {bread} ?
U J'ai mesuré deux fois, la niche pour *{furn:le frigo|l'armoire|le lave-linge|l'étagère}* fait exactement [1{=##},{=#}
  cm] de large.
? Quelle place a-t-on pour {furn} ?
M Dans une planche de cette taille, les *{plant}* demandent à peu près [{=+#} cm] entre deux pieds.
? Quel écart faut-il laisser pour les {plant} ?
M À ce rythme, la cagnotte pour *{pot:les vacances|le toit|l'école|la voiture}* atteindra [{=+} {=+##} euros] à la fin
  du printemps.
? Combien aura-t-on économisé pour {pot} ?
M Je donnerais à *{svc}* une *réserve* de [{=+#} connexions], ça laisse de la marge pour les tâches de nuit.
? Combien d'accès à la base pour {svc} ?
"""

PATH = """
U L'erreur d'arrondi est dans [src/{mod}/{file}.py:{=+##}], quelqu'un tronque *{kind:la facture|l'avoir|le bon|le
  devis}* avant la taxe.
? À quel endroit du code le montant est faux pour {kind} ?
U Le scan *{doc:du bail|du passeport|de la garantie|du carnet de santé}* est rangé sous
  [~/Documents/{folder}/scan-{=####}.pdf], l'original est chez ma mère.
? Où se trouve la copie numérique {doc} sur mon ordinateur ?
U Le test capricieux sur *{feat:les envois|les bons|les mots de passe|les exports}* est
  [tests/{mod}/test_{file}.py:{=+#}], il casse une fois sur dix.
? Quelle vérification n'est pas fiable pour {feat} ?
U Les photos *{event:du mariage|du baptême|de la plongée|de la remise des diplômes}* ont atterri dans
  [/mnt/nas/photos/{folder}_{=20##}], à côté des vieilles vidéos.
? Dans quel dossier réseau sont les images {event} ?
U Les comptes du club *{club}* sont dans [partage/{folder}/caisse-{=####}.ods], et seule la trésorière a le droit
  d'écrire.
? Quel tableur contient les finances ({club}) ?
M La logique des *{part}* commence à [internal/{mod}/{file}.go:{=+##}], c'est là que je mettrais le point d'arrêt.
? À quelle ligne démarrent les {part} ?
M J'ai mis la liste des bagages pour *{trip:Lisbonne|la Corse|les Alpes|Dublin}* dans [listes/{folder}-{=###}.md], les
  médicaments en premier.
? Dans quel fichier est ce qu'on emporte pour {trip} ?
M La migration qui échoue sur la table *{table:clients|reservations|paiements|stock}* est
  [db/migrate/{=0###}_{file}.sql:{=+#}], elle ajoute une colonne sans valeur.
? Quel changement de base fait tomber {table} ?
"""

ID = """
U *{item:Le lave-vaisselle|Le vélo cargo|Le canapé-lit|La pompe à chaleur}* a été commandé sous le numéro
  [{=@@-######}], si jamais le service client le demande.
? Quelle référence d'achat pour : {item} ?
U En cherchant par dichotomie, le problème de *{bug}* apparaît au commit [{=%%%%%%%%}] du mois dernier.
? Quelle révision a introduit : {bug} ?
U La nouvelle carte de *médiathèque* de *{who}* porte le [{=#### #### ##}], l'ancienne est restée dans le bus.
? Quel numéro pour les prêts de livres de {who} ?
U Notre code de réservation pour *{leg:le ferry|le train de nuit|la voiture|le camping}* est [{=@@#@##}], ils veulent
  un passeport avec.
? Sous quelle référence a-t-on pris {leg} ?
U L'assurance a enregistré le *{damage}* comme dossier [{=+#-####-####}], la réponse arrive sous quinze jours.
? Quel cas chez l'assureur pour le {damage} ?
M La trace que tu as collée appartient à la requête [req_{=%%%%%%%%%%}], celle où *{svc}* a répondu deux fois.
? Quel appel {svc} a-t-il servi en double ?
M Sur ta photo, *{dev:le routeur|l'imprimante|le thermostat|le four}* a le numéro de série [{=@#@@####}], donc la
  garantie court encore.
? Qu'est-ce qui est inscrit sur la plaque : {dev} ?
M D'après le fichier de verrouillage, *{env}* tournait avec l'image [sha256:{=%%%%%%%%%%%%}] quand tout marchait.
? Quelle version marchait encore sur {env} ?
"""

URL = """
U La maîtresse de *{who}* met les devoirs sur [https://{site}.org/classe/{=#??#}], il n'y a même pas de mot de passe.
? Où voir le travail d'école de {who} ?
U Les photos *{event2:de la fête d'été|de la régate|du vide-grenier|de la kermesse}* sont sur
  [https://{site}.net/a/{=????##}], mais le lien expire dans un mois.
? Quelle était l'adresse de l'album {event2} ?
U Le *tableau* avec les courbes de *{env}* se trouve sur [https://{site}.io/d/{=%%%%%%}], il faut le VPN.
? Où regarder les mesures de {env} ?
U J'ai pris *{part2:les charnières|le joint|les tuiles|le mitigeur}* chez [https://{site}.fr/shop/{=#####}], livraison
  gratuite à partir de cinquante euros.
? Quelle boutique en ligne pour {part2} ?
U Toutes les captures sur le problème de *{bug}* sont dans [https://{site}.dev/issues/{=+###}], lis d'abord le dernier
  commentaire.
? Quel ticket documente : {bug} ?
M Le formulaire officiel pour *{matter:le changement d'adresse|le stationnement|l'allocation|la taxe}* est sur
  [https://{site}.fr/f/{=@#-###}] et prend dix minutes.
? Sur quelle page faire la demande pour {matter} ?
M Il y a un bon guide sur *{topic:les bascules|les réserves de connexions|les quotas|le déploiement progressif}* à
  [https://{site}.io/guide/{=###}], avec des schémas.
? Quel tutoriel avais-tu conseillé sur {topic} ?
M Ma version *{dish:de la ratatouille|du gratin|de la soupe à l'oignon|du clafoutis}* vient de
  [https://{site}.com/r/{=####}], avec moitié moins de sel.
? D'où tiens-tu la recette {dish} ?
"""

PERSON = """
U *{trade:Le plombier|L'électricien|Le carreleur|Le couvreur}* des voisins s'appelle [{first} {last}] et ne répond
  qu'aux textos.
? Quel est le nom de l'artisan d'à côté ({trade}) ?
U C'est [{first} {last}] qui donne maintenant les cours *{subj:de violon|de maths|de natation|de dessin}* à *{who}*,
  avec une patience incroyable.
? Qui enseigne à {who} ({subj}) ?
U Dans l'équipe *{team:paiements|mobile|données|plateforme}*, c'est [{first} {last}] qui valide les livraisons, même en
  vacances.
? Quelle personne donne le feu vert côté {team} ?
U À la banque, [{first} {last}] s'occupe *{deal:du prêt|du livret|du compte joint|de l'assurance vie}* et préfère qu'on
  appelle avant midi.
? À qui téléphoner au sujet {deal} ?
U *{thing:Le piano|La caravane|La tondeuse|Le lit de bébé}* part chez [{first} {last}], qui passera avec une remorque.
? Qui récupère : {thing} ?
M D'après l'historique, [{first} {last}] a écrit presque tout le code des *{part}*, autant lui demander.
? Qui connaît le mieux les {part} ?
M Le compte rendu du club *{club}* donne [{first} {last}] à la trésorerie, à une voix près.
? Qui tient la caisse ({club}) ?
M Le courrier sur le *{damage}* que tu as copié est signé [{first} {last}], c'est là qu'il faut répondre.
? Qui nous a écrit de l'assurance ({damage}) ?
"""

DECISION = """
U On prend finalement [le plan de travail en {wood:chêne|noyer|hêtre|frêne} de {shop}], surtout parce qu'[on peut le
  reponcer].
? Pourquoi le {wood} pour la cuisine ?
U Après ce long appel, on part sur [{tech} pour la file de {svc}], puisque [{=^} d'entre nous l'ont déjà exploité].
? Qu'est-ce qui portera les messages de {svc}, et pourquoi ?
U Les enfants ont voté, on passe les vacances {hol:d'automne|de février|de Pâques|de Noël} [au lac près de {town}], car
  [le train met moins de {=^} heures].
? Où va-t-on pour les congés {hol} ?
U Je me suis décidée à [faire opérer le genou de {who} en {month}], vu que [la liste d'attente est plus courte].
? Quand a lieu l'intervention de {who} ?
U Le code de {svc} reste [dans le même dépôt que {tool:l'appli mobile|l'admin|le portail|la caisse}], comme ça [une
  version est une seule étiquette].
? Comment est rangé {svc} par rapport à {tool} ?
M Vous avez donc choisi de [découper les tables de {svc} par {dim:client|région|mois|agence}], parce que [chaque index
  reste sous {=+#} Go].
? Comment est partitionné {svc} ?
M Ce sera donc [les {plant} dans le carré {side:sud|nord|est|ouest}] cette année, étant donné que [le soleil y reste
  {=^} heures].
? Que plante-t-on côté {side} ?
M Comme convenu, [l'argent pour {pot:les vacances|le toit|l'école|la voiture} va sur le livret], parce qu'[il rapporte
  {=+},{=#} pour cent jusqu'en {month}].
? Où place-t-on l'épargne pour {pot} ?
"""

RULE = """
U Ne donne jamais [à {who} quoi que ce soit avec {food:des noisettes|des crevettes|du lactose|du sésame}], la dernière
  fois [on a fini aux urgences].
? Que ne doit pas manger {who} ?
U S'il te plaît, [pas de mise en ligne de {svc} après {=1^} h le {day}], [personne n'est d'astreinte].
? Quand est-il exclu de livrer {svc} ?
U En aucun cas on ne [restaure {env} depuis la sauvegarde de {day}], elle [contient encore de vrais clients].
? Quelle copie est interdite pour {env} ?
U Personne ne branche [quoi que ce soit {room:dans le couloir|à la cuisine|au grenier|au garage}] pendant que [le
  {dev:four|sèche-linge|poste à souder|compresseur} tourne].
? Que faut-il éviter côté prise {room} ?
U Dans les mails à {who} je ne veux [aucune allusion à {topic:l'héritage|l'ancien appart|la facture|la voiture}], ça
  [relance la dispute].
? De quoi ne parle-t-on pas avec {who} ?
M Il ne faut jamais [mélanger {cleaner:le déboucheur|la javel|le détartrant|le gel WC} et le vinaigre], car [les
  vapeurs sont toxiques].
? Qu'est-ce qui est dangereux avec {cleaner} ?
M N'écris pas [{field:la date de naissance|le numéro de carte|l'adresse|le numéro fiscal} d'un client dans les
  journaux], l'audit [compte cela comme une faute].
? Que dit-on de {field} et des traces ?
M On ne taille pas [{bush:le cerisier|le lilas|l'hortensia|le magnolia} en {month}], puisque [les bourgeons y sont
  déjà].
? Quand laisser les sécateurs loin : {bush} ?
"""

TASK = """
U Il me reste à [appeler {office:la mairie|le propriétaire|la mutuelle|la crèche} pour {who}], [avant {day} midi].
? Quel coup de fil manque pour {who} ?
U Quelqu'un doit [renouveler la clé de signature de {svc}], [au plus tard le {=2+}].
? Que faut-il changer sur {svc}, et pour quand ?
U Quand la peinture sera sèche, je veux [remettre les plinthes {room:du couloir|de la chambre|du bureau|du grenier}],
  [sans doute {day}].
? Quel bricolage est à finir côté sols {room} ?
U On n'a pas encore [rendu {thing:l'échelle|la remorque|la tente|la perceuse} à {who}], il [le faudra pour {day}].
? Que doit-on à {who} ?
U De mon côté il manque [le test de charge de {svc}], à [montrer à l'équipe {day}].
? Quelle mesure de {svc} dois-je présenter ?
M Il manque toujours [le contrôle {file} pour {env}], que tu [voulais ajouter d'ici {day}].
? Qu'avais-tu prévu pour {env} ?
M Tu voulais aussi [demander à {who} {item:le double des clés|le siège auto|le lit d'appoint|la glacière}] [quand vous
  vous voyez {day}].
? Quelle question poser à {who} ?
M Encore ouvert sur la liste : [commander {=+#} litres de {stuff:peinture|terreau|vernis|engrais}] [chez {shop} avant
  {day}].
? Quelle réserve de {stuff} acheter ?
"""

REJECTED = """
U On a regardé [le store {brand:Solero|Markant|Veltura|Nordlicht}] et on l'a écarté, [il claque au moindre vent].
? Qu'est-ce qui va contre le pare-soleil {brand} ?
U J'ai essayé [{tech} comme cache de {svc}] une semaine puis je l'ai retiré, [il perdait {=+#} clés par redémarrage].
? Quel stockage n'a pas convenu à {svc} ?
U L'idée de [l'anniversaire de {who} {place:au mur d'escalade|à la ferme|à la piscine|au musée}] est abandonnée, [c'est
  complet jusqu'en {month}].
? Pourquoi {who} ne fête pas {place} ?
U On a pensé à [déménager à {town}] et on y a renoncé, [le trajet prendrait {=+#} minutes].
? Pourquoi pas {town} comme chez-nous ?
U {who} proposait [{fw:GraphQL|gRPC|des websockets|un bus de messages} pour {svc}], mais on ne le fera pas, [il
  faudrait une deuxième passerelle].
? Qu'est devenue la proposition de {who} sur {svc} ?
M Du coup [{way:la route côtière|le ferry de nuit|le col|le train couchette} vers {town}] est exclu, puisque [ça coûte
  {=+#} euros de plus].
? Quel chemin vers {town} a été éliminé ?
M Je ne reviendrais pas [au régime {kind:cétogène|cru|détox|chou}], ton médecin [l'a exclu avec un taux rénal de {=+#}].
? Pourquoi {kind} n'est pas pour moi ?
M On a écarté [l'éclatement de {svc} par {dim:hachage|date|pays|usager}], parce que [les rapports joignent {=^}
  morceaux].
? Qu'a-t-on refusé pour faire grandir {svc} ?
"""

UPDATE = """
U *{who}* a rendez-vous *{appt:chez le dentiste|chez l'ophtalmo|au vaccin|chez le coiffeur}* {day} à [{=1#} h {=~5}],
  je prends la voiture.
+ Le cabinet a appelé pour *{who}*, *{appt}* c'est décalé à [{=1#} h {=~5}] finalement.
? À quelle heure {who} doit y être ({appt}) ?
U *{svc}* tourne pour le moment avec un *délai* de [{=+#} secondes], ce qui me paraît large.
+ J'ai touché au *délai* de *{svc}* ce matin, on est descendu à [{=+#} secondes].
? Combien de temps {svc} a-t-il avant d'être coupé ?
U Le *loyer* {flat:de l'appart rue Haute|du garage|de l'atelier|du box} est de [{=+##} euros] par mois, sans le
  chauffage.
+ Ils ont augmenté, le *loyer* {flat} passe à [{=+##} euros] dès le mois prochain.
? Que paye-t-on {flat} ?
U *{who}* fait du [{=3#,5}] en *chaussures*, si quelqu'un cherche un cadeau.
+ *{who}* a encore grandi, pour les *chaussures* c'est du [{=4~,5}] depuis cette semaine.
? Quelle pointure va à {who} ?
U La livraison de *{svc}* est prévue en version [{=+.#.1#}], gel deux jours avant.
+ Petite correction, *{svc}* part en [{=+.#.2#}] parce que le premier paquet était cassé.
? Sous quel numéro sort {svc} ?
U Le *code* de la porte {place:du hangar|du gîte|du local|du jardin partagé} est le [{=+###}], garde-le pour toi.
+ Ils ont changé le *code* de la porte {place}, on entre avec [{=+###}] désormais.
? Que taper à l'entrée {place} ?
U Pour la soirée *{club}* on a [{=1#} personnes] sur la liste jusqu'ici, les deux d'à côté compris.
+ Deux désistements et une arrivée, la soirée *{club}* est à [{=2#} personnes] aujourd'hui.
? Combien d'invités pour {club} ?
M Avec le devis de *{shop}*, *{work:les fenêtres|l'escalier|la salle de bains|la terrasse}* coûterait [{=+} {=+##}
  euros] tout compris.
+ Avec le devis corrigé de *{shop}*, *{work}* revient à [{=+} {=+##} euros], l'ancienne somme ne compte plus.
? Quel prix demande {shop} ?
M La *sauvegarde* de nuit de *{svc}* devrait partir à [{=+} h {=~5}], juste après l'import.
+ Comme l'import dure plus longtemps, fais plutôt partir la *sauvegarde* de *{svc}* à [{=+} h {=~5}].
? Quand copie-t-on {svc} ?
"""

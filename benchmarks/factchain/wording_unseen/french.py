"""French facts of the unseen profile; the extractor's author never sees them or their failures."""

SLOTS = """
kin: Ousmane, Capucine, Loïc, Inès, Bastien, Maëlle, Karim, Solène
given: Aurore, Célestin, Edmée, Fulbert, Hortense, Léonce, Marceline, Octave
family: Abadie, Bouvier, Crépin, Dujardin, Escoffier, Kerbrat, Lamarque, Nogaret, Poulain, Tisserand
when: lundi prochain, mardi soir, mercredi matin, jeudi à la pause, dimanche
season: fin janvier, mi-février, début juillet, août, décembre
vet: teckel, hamster, perroquet, chat
gig: noce, kermesse, parade, soirée
hive: ruche du nord, ruche rouge, ruchette, ruche du hangar
car: break, fourgon, scooter, triporteur
box: serveur média, Pi de la serre, cluster k3s, banc de build
prog: appli recettes, appli météo, album photo, outil de quiz
"""

LABELS = """
decision: C'est décidé, Décision
rule: Attention, Consigne
task: À ne pas oublier, Reste à faire
other: Retiens, Pour info, Note bien
"""

LEADS = """
Bon,
En passant,
Remarque,
Et puis,
"""

NUMBER = """
U Chargé, le *{car}* demande [{=^,#} bars] à l'avant, le garagiste me l'a écrit sur le pneu.
? À combien gonfler les roues du {car} ?
U La balance affiche [{=+#,# kg}] pour l'animal, donc on divise la dose du *{vet}* par deux.
? Combien pèse le {vet} ?
U Hier soir j'ai pesé la *{hive}*, et avec la hausse on arrive à [{=^#,# kg}], plus lourd que prévu.
? Quel poids faisait la {hive} ?
U Le traiteur de la *{gig}* réclame [{=+} {=+##} €] et les boissons sont en sus.
? Que coûterait le repas de la {gig} ?
U Sur mon téléphone antique, l'*{prog}* s'ouvre maintenant en [{=+## millisecondes}].
? À quelle vitesse démarre l'{prog} ?
U Il ne leur reste que [{=+#,# mètres}] *{cloth:de lin bleu|de velours vert|de coton rayé|de feutre gris}*, sans
  réassort.
? Combien y a-t-il encore au magasin {cloth} ?
M Au-delà de [{=+## enregistrements}] à la fois, je ne ferais pas travailler l'*{prog}*, le quota est serré.
? Quelle taille de lot pour l'{prog} ?
M Vu les jambes de *{kin}*, une selle à [{=^# cm}] de la pédale est un bon début.
? Quelle hauteur de vélo pour {kin} ?
"""

PATH = """
U Si tu cherches où l'*{prog}* avale l'exception, c'est [lib/{pkg}/{src}.ts:{=+##}], bien caché.
? Où disparaît l'erreur de l'{prog} ?
U Mes partitions pour la *{gig}* sont enregistrées en [/home/commun/{dir}/set-{=+##}.musx], le papier est sous le
  tabouret.
? Quel fichier contient la musique de la {gig} ?
U Sous Windows l'*{prog}* crache ses restes dans [C:\\Temp\\{dir}\\dump_{=####}.dmp], chez moi du moins.
? Où ramasser ce que laisse l'{prog} en plantant ?
U Le carnet de vaccins de *{kin}*, un peu flou, est dans [~/Dropbox/{dir}/{kin}_{=####}.jpeg].
? Sous quel nom est le justificatif de {kin} ?
U Quoi qu'en dise le wiki, le *{box}* lit ses réglages dans [/etc/{pkg}/{src}-{=##}.toml].
? D'où vient la configuration du {box} ?
M La vraie *{smell:course critique|boucle|fuite|dérive}* naît dans [pkg/{pkg}/{src}.rs:{=+##}], le reste n'en est que
  l'effet.
? À quelle position du source est la {smell} ?
M Tu avais sauvé le plan *{place:de la grange|de la péniche|du chalet|du foyer}* l'autre jour en
  [plans/{dir}/v{=##}.svg].
? Quel dessin montre les pièces {place} ?
M Je commencerais la lecture par [carnets/{dir}/{src}_{=##}.ipynb], c'est là qu'on trace *{chart:la pluie|la latence|le
  pollen|les départs}*.
? Où sont faits les graphiques sur {chart} ?
"""

ID = """
U *{kin}* a changé de portable, c'est le [06 {=## ## ## ##}], la vieille puce traîne dans un tiroir.
? Comment joindre {kin} par téléphone ?
U Quand tu appelles pour le *{car}*, donne tout de suite le châssis [{=@@@##@##@######}], sinon ils ne regardent même
  pas.
? Quelle est l'immatriculation d'usine du {car} ?
U *{gear:La table de mixage|La batterie|Le clavier|L'ampli basse}* est assurée par la police [{=@@/####/##}], j'ai
  retrouvé la lettre.
? Quel contrat couvre : {gear} ?
U Le soir où tout a déraillé, on a ramené le *{box}* en [v{=+}.{=#}.{=##}-g{=%%%%%%%}].
? Quelle version a été remise sur le {box} ?
U La puce du *{vet}* porte le [{=9########}{=######}], je l'ai recopiée du lecteur.
? À quels chiffres reconnaît-on le {vet} perdu ?
M L'identifiant que l'*{prog}* affiche sur ta capture est [{=%%%%%%%%-%%%%-4%%%}], l'assistance le demandera.
? Que citer au support pour l'{prog} ?
M *{film:Le polar|Le livre de cuisine|Le guide|L'atlas}* a l'ISBN [978-{=#-####-####-#}], presque toutes les librairies
  l'ont.
? Avec quelle référence commander : {film} ?
M C'est le colis [{=@@#########@@}] qui contient le cadeau de *{kin}*, d'après le mail que tu as copié.
? Comment suivre la surprise pour {kin} ?
"""

URL = """
U Pour la *{gig}* tout le monde s'inscrit sur [https://{host}.events/oui/{=??##??}], même ma tante.
? Où confirmer sa venue à la {gig} ?
U C'est [https://docs.{host}.app/{=+##}/{src}] qui m'a enfin fait comprendre le *{box}*.
? Quel article éclaire le {box} ?
U *{kin}* diffuse les répétitions, ça se passe sur [https://{host}.tv/live/{=??????}] et sans compte.
? Où regarder {kin} répéter ?
U La caméra de la *{hive}* répond sur [http://{host}.local:{=8###}/cam], mais seulement depuis chez nous.
? Comment jeter un œil dans la {hive} à distance ?
U J'ai versé un acompte pour le *{car}* via [https://{host}.market/annonce/{=########}], remboursable quinze jours.
? Où est l'annonce du {car} ?
M Ce qui change dans *{lib}* est listé sur [https://{host}.dev/{=####}/notes], le plus gênant tout en bas.
? Où lire les nouveautés de {lib} ?
M Pour prolonger *{permit:le permis de pêche|la cabine de plage|le stand|le brevet drone}*, passe par
  [https://demande.{host}.fr/{=@@-##}] avant l'échéance.
? Quel site garde en vie {permit} ?
M Les accords *{song:du rappel|de la berceuse|du premier morceau|de la valse}* sont sur
  [https://{host}.band/tabs/{=+####}], capo en deux.
? Sur quelle page est notée la musique {song} ?
"""

PERSON = """
U On a engagé [{given} {family}] à l'accordéon pour la *{gig}*, l'acompte est parti.
? Qui joue à la {gig} ?
U Le *{vet}* passe au bloc, et c'est [{given} {family}] qui tient le scalpel, ça me rassure.
? Quel chirurgien pour le {vet} ?
U Si le *{box}* tombe la nuit, [{given} {family}] a le téléphone jusqu'au printemps.
? Qui réveiller quand le {box} est à terre ?
U Depuis la réorganisation, ma hiérarchie c'est [{given} {family}], du pôle
  *{dept:outillage|croissance|micrologiciel|recherche}*.
? À qui je rends compte au pôle {dept} ?
U *{kin}* partage l'appartement avec [{given} {family}], rencontre à la salle d'escalade.
? Avec qui habite {kin} ?
M La personne qui a fusionné ton correctif *{lib}* est [{given} {family}], selon le fil.
? Qui a accepté ma contribution à {lib} ?
M Au guichet, demande [{given} {family}], on y connaît *{permit:le permis de pêche|la cabine de plage|le stand|le
  brevet drone}* par cœur.
? Quel agent suit {permit} ?
M Sur le programme photographié, [{given} {family}] dirige *{piece:le requiem|l'oratorio|la symphonie|la messe}* cette
  fois.
? Qui est au pupitre pour {piece} ?
"""

DECISION = """
U Pour nous ce sera [le fourgon {colour:moutarde|pétrole|prune|rouille} à toit {roof:relevable|fixe}], ce qui a tranché
  c'est qu'[il passe sous la barre de 2,{=#} m].
? Qu'est-ce qui a joué pour le fourgon {colour} ?
U Sur l'{prog} je reste [avec {lib} plutôt que de tout refaire], la raison étant que [{kin} l'entretient seul jusqu'en
  {season}].
? Avec quoi tourne encore l'{prog} ?
U {kin} et moi sommes tombés d'accord : [la {gig} se tient {venue:au verger|à la mairie|au hangar|à la brasserie}],
  ainsi [{=^#} fauteuils roulants entrent sans marche].
? Quel lieu pour la {gig} ?
U Fin du débat, [la {hive} change de reine {season}], elle [a piqué {kin} {=^} fois en une semaine].
? Que devient la {hive} ?
U Les journaux du {box} restent [{=+# jours sur la machine}], comme ça [le délégué aux données n'a rien à signer].
? Combien de temps garde-t-on les traces du {box} ?
M Bien, alors [{kin} prend la chambre {room:du haut|côté jardin|d'angle|bleue}], logique puisque [{instrument:la
  batterie|la trompette|le violoncelle} n'y gêne personne].
? Qui dort dans la chambre {room} ?
M Conclusion : [l'{prog} sort sans {feat:mode sombre|mode hors ligne|comptes|notifications}], au motif que [{=^} pour
  cent s'en serviraient].
? Qu'a-t-on retiré de l'{prog} ?
M Tu as opté pour [la carte {plan:mensuelle|famille|étudiante|flexible} du train], l'argument étant que [{kin} voyage
  {=^} fois par semaine].
? Pourquoi cet abonnement ({plan}) ?
"""

RULE = """
U Le {vet} n'a droit à [aucun bout {treat:de raisin|d'oignon|de chocolat|d'avocat}], pas même une miette, [son foie est
  déjà fragile].
? Quel aliment est un poison pour le {vet} ?
U On ne touche pas [au {box} pendant que {kin} présente], la dernière fois [la scène s'est éteinte].
? Quand laisser le {box} tranquille ?
U Évite de me [reproposer {lib} pour l'{prog}], l'équipe [a voté contre à {=^} contre un].
? Quel outil ne plus évoquer pour l'{prog} ?
U Quoi qu'il arrive, [{secret:la grossesse|le nouveau poste|le diagnostic|les fiançailles} de {kin} reste entre nous]
  jusqu'à [la fête de {season}].
? Que faut-il cacher sur {kin} ?
U Les photos {kids:des petits|du chœur|des scouts|de l'équipe} ne vont [nulle part en public], les parents [n'ont signé
  que pour le livret].
? Qu'est-ce qui n'est pas permis avec les images {kids} ?
M Il est important de ne pas [ouvrir la {hive} sous {=1# degrés}], car [le couvain refroidit en minutes].
? Par quel temps laisser la {hive} fermée ?
M Garde-toi de [lancer deux fois l'import de l'{prog} sur {unit:le même jour|le même dossier|le même lot}], vu que [les
  totaux s'additionnent].
? Que ne pas répéter avec l'{prog} ?
M Impossible de [tracter {trailer:un van|un bateau|une caravane|un broyeur} avec le {car}], il [n'est homologué que
  pour {=^##} kilos].
? Que ne peut pas tirer le {car} ?
"""

TASK = """
U {kin} attend de moi [{doc:le plan de table|l'ordre des morceaux|la liste d'invités|le budget}], ça doit [partir
  {when}].
? Qu'est-ce que {kin} attend ?
U J'ai promis de [passer le {car} au contrôle technique] [tant que le garage a de la place {season}].
? Quelle visite attend le {car} ?
U Il y a aussi [le certificat de l'{prog} à prolonger], il [expire {when}].
? Qu'est-ce qui périme bientôt pour l'{prog} ?
U J'oublie toujours de [commander {=^#} cadres pour la {hive}], [le fournisseur ferme {season}].
? Quel matériel manque à la {hive} ?
U À mon programme {when} : [migrer le réglage {lib} du {box}] et [supprimer la vieille branche].
? Quelle migration du {box} est pour moi ?
M Il te reste donc [le discours pour {kin}], [{=^ minutes au plus}].
? Quel texte pour {kin} n'existe pas encore ?
M On a mis de côté [la question {feat:du mode sombre|du hors ligne|des comptes} de l'{prog}], [à reprendre {when}].
? Quel sujet sur l'{prog} est en attente ?
M Il te faudra [inscrire le {vet} à la pension] [avant le départ de {season}].
? Que prévoir pour le {vet} avant le voyage ?
"""

REJECTED = """
U Finalement [{venue:le verger|la mairie|le hangar|la brasserie} pour la {gig}] ne nous dit plus rien, [la musique
  s'arrête à {=2#} h].
? Qu'est-ce qui clochait avec {venue} pour la {gig} ?
U {lib} avait l'air tentant pour l'{prog}, mais [j'ai lâché {lib}] après [{=^# bugs en un après-midi}].
? Pourquoi l'{prog} ne repose pas sur {lib} ?
U Ma mère voulait que [{kin} étudie à {city:Nantes|Liège|Lausanne|Metz}] et on a dit non, [le loyer y est de {=+##}
  euros].
? Pourquoi {kin} n'ira pas à {city} ?
U Personne n'aimait [les tenues {colour:moutarde|pétrole|prune|rouille} pour la {gig}], [on dirait {chain:une
  banque|une compagnie aérienne|un fast-food}].
? Que pense-t-on des habits {colour} ?
U J'ai songé à [confier le {box} à une boîte], et non, [elle prend {=^# euros par disque et par mois}].
? Pourquoi ne paie-t-on personne pour le {box} ?
M Vous avez refusé [{breed:le siamois|le colley|la perruche|le lapin} du refuge], car [{kin} éternue à côté].
? Quel animal n'est pas venu à cause de {kin} ?
M [{lib} dans le {box}] a été écarté, au motif qu'[il mange {=^} Go au repos].
? Qu'est-ce qui était trop gourmand pour le {box} ?
M Plutôt que [la balade {route:du canal|de la côte|des marais|du val} avec le {vet}], cherchez autre chose, il y a
  [{=^# barrières à franchir}].
? Pourquoi pas la promenade {route} avec le {vet} ?
"""

UPDATE = """
U *{kin}* atterrit *{when}* à [{=1# h ~5}], je tiendrai une pancarte ridicule.
+ L'avion de *{kin}* a du retard, *{when}* compte plutôt [{=2# h ~5}] au même terminal.
? À quel moment aller chercher {kin} à l'aéroport ?
U L'*{prog}* garde ses *cookies* [{=+# jours}], personne n'y a jamais trouvé à redire.
+ Le service juridique s'est réveillé : les *cookies* de l'*{prog}* vivent [{=+# jours}] au plus.
? Combien dure la connexion à l'{prog} ?
U La place au *{fair:marché de printemps|marché de nuit|salon du livre|marché d'automne}* revient à [{=+## €}],
  électricité comprise.
+ Ils ont un nouveau tarif au *{fair}*, on nous demande [{=+## €}].
? Que paye-t-on pour être au {fair} ?
U Le *wifi* {place:de la grange|de la péniche|du chalet|du foyer} s'ouvre avec [{=???##???}], tout en minuscules.
+ Quelqu'un a réinitialisé la box, pour le *wifi* {place} c'est [{=???##???}] ces jours-ci.
? Comment se connecter {place} ?
U À la *{gig}* on place [{=5# convives}], serrés mais faisable.
+ Après les réponses du week-end la *{gig}* monte à [{=8# convives}], au secours.
? Combien de chaises à la {gig} ?
U J'ai mis [{=1# Go}] de *mémoire* dans le *{box}*, la carte n'en prend pas plus.
+ J'ai retrouvé une barrette, le *{box}* a [{=3# Go}] de *mémoire* depuis hier soir.
? Combien de RAM dans le {box} ?
M D'après toi, l'*{prog}* a un budget d'*hébergement* de [{=^} {=+## euros}] jusqu'à présent.
+ Compte tenu de la coupe, l'*hébergement* de l'*{prog}* reçoit [{=^} {=+## euros}], pas un centime au-delà.
? Que peut coûter le serveur de l'{prog} ?
M À ce poids, le *{vet}* devrait prendre [{=1## ml}] de *sirop* deux fois par jour.
+ Au vu de la prise de sang, ramène le *sirop* du *{vet}* à [{=^# ml}] deux fois par jour.
? Quelle dose pour le {vet} ?
"""

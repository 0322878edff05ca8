"""English facts of the unseen profile; the extractor's author never sees them or their failures."""

SLOTS = """
kin: Priya, Marcus, Yusuf, Ingrid, Kofi, Tessa, Wei, Olga, Rafael, Bridget, Dmitri, Sunny
given: Abigail, Cedric, Delphine, Ezra, Hamish, Isolde, Jasper, Leonora, Montgomery, Nadia, Rosalind, Tobias, Winifred
family: Abernathy, Birtwistle, Castellan, Drummond, Eastwick, Farquhar, Godolphin, Huxtable, Kinnaird, Lockhart, Okafor
when: this Monday, next Tuesday, Wednesday night, Thursday lunchtime, Friday morning, Sunday evening
season: late January, mid February, early July, August, December
vet: spaniel, tortoise, parrot, tomcat
gig: wedding, street parade, school concert, charity dinner
hive: north hive, red hive, swarm box, hive by the shed
car: estate car, camper van, scooter, delivery bike
box: k3s cluster, build farm, media server, greenhouse Pi
"""

LABELS = """
decision: Agreed, Decision, Final decision
rule: Please note, Rule, Constraint
task: Action item, Todo, Don't forget
other: Remember, For your notes, Note to self
"""

LEADS = """
So,
One aside,
Well,
Besides,
Come to think of it,
In other news,
While I'm at it,
"""

NUMBER = """
U Since the last service, [{=^#.#} psi] is what the mechanic says the front tyres of the *{car}* need when it's loaded.
? How hard should the wheels at the front of the {car} be pumped up?
U Our *{vet}* weighed in at [{=+.##} kg] at the vet's, so the dose gets halved.
? What is the current weight of the {vet}?
U I weighed the *{hive}* last night and it came to [{=^#.#} kg] with the super on, heavier than I'd hoped.
? How heavy was the {hive} including the honey box?
U The caterer quoted us [£{=+,+##}] for the *{gig}*, drinks not included, which seems steep.
? What would the food at the {gig} cost?
U With the new cache the *{app}* opens in [{=+##} milliseconds] on my ancient phone.
? How fast does the {app} launch nowadays?
U They only have [{=+#.#} metres] of the *{cloth:blue linen|green velvet|striped cotton|grey felt}* left, and no
  restock is coming.
? How much of the {cloth} is still in the shop?
M Batches of [{=+## records}] are as far as I'd go when the *{app}* talks to that endpoint, given the quota.
? What chunk size did you suggest for the {app}?
M For *{kin}*'s height, a saddle at [{=^#.# inches}] above the pedal is a decent starting point.
? How high should the bike seat of {kin} be?
M Simmer the *{jam:plum jam|quince jelly|tomato relish|mango chutney}* at [10{=+} °C] and it will set without extra
  pectin.
? To what temperature do I take the {jam}?
"""

PATH = """
U If you're looking for where the *{app}* eats the exception, it's [lib/{pkg}/{src}.ts:{=+##}], hidden in a catch block.
? Where does the error disappear inside the {app}?
U My sheet music for the *{gig}* is saved as [/home/shared/{dir}/set-{=+##}.musx], the print-outs are in the piano
  stool.
? Which file has the notes we play at the {gig}?
U On Windows the crash dump of the *{app}* goes to [C:\\Temp\\{dir}\\dump_{=####}.dmp], at least on my machine.
? Where do I pick up what the {app} leaves behind when it dies?
U I dropped *{kin}*'s vaccination sheet in [~/Dropbox/{dir}/{kin}_{=####}.jpeg], it's slightly blurred.
? Under what name did I store the jab record of {kin}?
U The *{box}* reads its settings from [/etc/{pkg}/{src}-{=##}.toml], whatever the wiki claims.
? From where does the {box} get its configuration?
M The *{smell:race condition|off-by-one|deadlock|stale cursor}* originates at [pkg/{pkg}/{src}.rs:{=+##}], the rest is
  only a symptom.
? What's the source position of the {smell}?
M You saved the floor plan of the *{place:barn|houseboat|studio flat|clubhouse}* as [plans/{dir}/v{=##}.svg] the other
  day.
? Which drawing shows the rooms of the {place}?
M I'd begin reading at [notebooks/{dir}/{src}_{=##}.ipynb], that's the one with the
  *{chart:churn|rainfall|latency|pollen}* plots.
? Where are the {chart} figures drawn?
"""

ID = """
U *{kin}* got a new mobile, the number is [07{=### ######}], the old SIM is in a drawer.
? How can I ring {kin}?
U When you call about the *{car}*, give them the chassis number [{=@@@##@##@######}], otherwise they won't even look.
? How does the VIN of the {car} read?
U Our band's *{gear:mixing desk|drum kit|keyboard|bass amp}* is insured under policy [{=@@/####/##}], I finally found
  the letter.
? What contract covers the {gear}?
U We rolled the *{box}* back to [v{=+}.{=#}.{=##}-g{=%%%%%%%}] on the evening it all went sideways.
? What build went back onto the {box}?
U Since you asked, the *{vet}*'s chip is [{=9########}{=######}], I read it off the collar scanner.
? By what digits can the lost {vet} be identified?
M The error id *{app}* reported in your screenshot is [{=%%%%%%%%-%%%%-4%%%}], support will want it.
? What do I quote to support for the {app} failure?
M That *{film:documentary|cookbook|thriller|guidebook}* has the ISBN [978-{=#-####-####-#}], most libraries can get it.
? Under which book number do I order the {film}?
M Parcel [{=@@#########@@}] is the one holding *{kin}*'s present, going by the mail you pasted.
? How do I track the gift for {kin}?
"""

URL = """
U For the *{gig}* everybody signs up at [https://{host}.events/rsvp/{=??##??}], my aunt included.
? Where do guests confirm for the {gig}?
U [https://docs.{host}.app/{=+##}/{src}] is the page that finally explained the *{box}* to me.
? Which article made sense of the {box}?
U *{kin}* streams the rehearsals, it's [https://{host}.tv/live/{=??????}] and works without an account.
? Where can one watch the practice sessions of {kin}?
U The webcam on the *{hive}* can be seen under [http://{host}.local:{=8###}/cam], only from our wifi though.
? How do I look into the {hive} from home?
U I've put a deposit on the *{car}* through [https://{host}.market/item/{=########}], refundable for a fortnight.
? What's the listing of the {car}?
M You'll find the changelog for *{lib}* at [https://{host}.dev/{=####}/notes], the breaking part is near the bottom.
? Where are the release notes of {lib}?
M To renew the *{permit:fishing licence|beach hut|market stall|drone permit}*, go to
  [https://apply.{host}.org.uk/{=@@-##}] before it lapses.
? Which site handles the extension for the {permit}?
M The chords for *{song:the encore|the lullaby|the opening number|the waltz}* are on
  [https://{host}.band/tabs/{=+####}], capo on two.
? On what page is {song} written out?
"""

PERSON = """
U We hired [{given} {family}] for the *{gig}*, the one with the accordion, deposit is paid.
? Which musician plays at the {gig}?
U The *{vet}* has an operation and [{given} {family}] will be the one holding the scalpel.
? Who is the surgeon for the {vet}?
U If something breaks on the *{box}* at night, [{given} {family}] carries the pager until spring.
? Whom do we wake when the {box} is down?
U My new boss, as of the reorganisation, is [{given} {family}] from the *{dept:tooling|growth|firmware|research}* group.
? Who in {dept} do I report to?
U *{kin}* is sharing the flat with [{given} {family}], they met at the climbing gym.
? Who lives together with {kin}?
M The maintainer who merged your *{lib}* patch was [{given} {family}], according to the thread.
? Who accepted what I contributed to {lib}?
M Ask for [{given} {family}] at the counter, that is the person who knows about the *{permit:fishing licence|beach
  hut|market stall|drone permit}*.
? Which clerk deals with the {permit}?
M From the programme you photographed, [{given} {family}] conducts the *{piece:requiem|oratorio|symphony|mass}* this
  time.
? Who is on the podium for the {piece}?
"""

DECISION = """
U It'll be [the {colour:mustard|teal|plum|rust} camper with the {roof:pop-up|fixed|panorama} roof] for us, the deciding
  factor being that [it fits under the {=2.#} m barrier].
? What made us take the {colour} van?
U For the {app} I'm sticking with [{lib} rather than a rewrite], the reason is simply that [{kin} maintains it alone
  until {season}].
? On what does the {app} keep running, and why no fresh start?
U {kin} and I agreed to [hold the {gig} in the {venue:orchard|town hall|boathouse|old brewery}], so [the {=^#}
  wheelchair users get in without stairs].
? What location did we fix for the {gig}, and why there?
U No more discussion, [the {hive} gets requeened in {season}], because [it stung {kin} {=^} times last week].
? What is planned with the {hive}?
U Logs from the {box} will [stay on the box for {=+#} days], that way [the privacy officer has nothing to sign].
? How long do we store what the {box} writes, and for what reason?
M Fine, then the plan is [{kin} takes the {room:loft|garden|corner|blue} room], which makes sense as [the
  {instrument:drums|trumpet|cello|piano} won't bother anyone there].
? Who sleeps in the {room} room, and what's the argument?
M We concluded that [the {app} ships without {feat:dark mode|offline sync|accounts|push}], on the grounds that [only
  {=^} percent would use it].
? Which feature of the {app} was postponed, and on what basis?
M You opted for [the {plan:monthly|family|student|flexible} rail pass], and the argument was that [{kin} travels {=^}
  times a week].
? Why that {plan} ticket for the train?
"""

RULE = """
U The {vet} must not [get any {treat:grapes|onion|chocolate|avocado}], not even a crumb, since [its liver is already
  weak].
? Which food is poison for our {vet}?
U No one touches [the {box} while {kin} is presenting], we [had a blackout on stage the last time].
? When are hands off the {box}?
U I'd rather you don't [suggest {lib} for the {app} again], my team [voted it down with {=^} to one].
? Which tool should no longer come up for the {app}?
U Whatever happens, [{kin}'s {secret:pregnancy|new job|diagnosis|engagement} is not to be mentioned] until [the party
  in {season}].
? What has to remain a secret about {kin}?
U Photos of the {kids:toddlers|choir kids|scouts|team} can't [be posted anywhere public], the parents [only signed for
  the printed booklet].
? What isn't permitted with pictures of the {kids}?
M It's important not to [open the {hive} below {=1#} degrees], because [the brood chills within minutes].
? In what weather should I leave the {hive} closed?
M Avoid ever [running the {app} importer twice on one {unit:day|folder|batch|account}], as [the totals are added up
  again].
? What should not be repeated with the {app}?
M You can't [tow the {trailer:horsebox|boat|caravan|woodchipper} with the {car}], it [is only rated for {=^##} kilos].
? What may the {car} not pull?
"""

TASK = """
U {kin} is waiting for me to [send the {doc:seating plan|setlist|guest list|budget}], that has to [go out {when}].
? What does {kin} expect from me?
U I promised to [get the {car} through its inspection] [while the garage has a slot in {season}].
? Which appointment does the {car} need?
U There's also [the {app} certificate to be extended], [it runs out {when}].
? What expires soon for the {app}?
U What I keep forgetting is [to order {=^#} frames for the {hive}], [the supplier closes in {season}].
? What equipment for the {hive} has yet to be purchased?
U On my plate for {when}: [port the {lib} config of the {box}] and [delete the old branch].
? Which migration on the {box} is up to me?
M That leaves you with [writing the speech for {kin}], [at most {=^} minutes long].
? What text for {kin} isn't written so far?
M We parked [the {feat:dark mode|offline sync|accounts|push} question of the {app}], [to be picked up {when}].
? Which topic around the {app} did we postpone?
M You'll need to [book the {vet} in at the kennel] [before the trip in {season}].
? What must be arranged for the {vet} ahead of our holiday?
"""

REJECTED = """
U We went off [the {venue:orchard|town hall|boathouse|old brewery} for the {gig}], turns out [they stop the music at
  {=1#}:30].
? What was wrong with having the {gig} at the {venue}?
U {lib} looked tempting for the {app}, but [I gave up on {lib}] after [{=^#} open bugs in one afternoon].
? Why does {lib} not power the {app}?
U My mother wanted [{kin} to study in {city:Leeds|Cardiff|Utrecht|Galway}] and we said no, [the rent there is {=+##} a
  month].
? Why isn't {kin} going to {city}?
U Nobody liked [the {colour:mustard|teal|plum|rust} uniforms for the {gig}], [they look like a
  {chain:bank|airline|burger shop}].
? What do we think of dressing in {colour}?
U I considered [letting a company run the {box}], and no, [they charge {=^#} a month per disk].
? Why don't we pay someone to host the {box}?
M You turned down [the {breed:Siamese|collie|parakeet|rabbit} from the shelter] as [{kin} sneezes around it].
? Which animal didn't we adopt because of {kin}?
M Using [{lib} inside the {box}] was dismissed, on the ground that [it needs {=^} GB of memory idle].
? What was thought too hungry for the {box}?
M Instead of pursuing [the {route:canal|coastal|moor|valley} walk with the {vet}], you let it go, it has [{=^#} stiles
  on the way].
? Why not take the {vet} on the {route} trail?
"""

UPDATE = """
U *{kin}* lands at [{=1#.~5}] on *{when}*, terminal two, I'll be holding a silly sign.
+ *{kin}*'s flight got delayed, so for *{when}* make that [{=2+.~5}] at the same terminal.
? At what hour do I collect {kin} from the airport?
U The *{app}* holds on to its *cookies* for [{=+#} days], which legal has never questioned.
+ Legal woke up: the *cookies* of the *{app}* may only live for [{=+#} days].
? How long does a login with the {app} last?
U The stall fee for the *{fair:spring fair|night market|book fair|harvest market}* is [£{=+##}] including electricity.
+ There's a new price list for the *{fair}*, they want [£{=+##}] from us.
? What do we pay to be at the {fair}?
U The wifi password at the *{place:barn|houseboat|studio flat|clubhouse}* is [{=???##???}], all lower case.
+ Somebody reset the router, the *{place}* wifi wants [{=???##???}] these days.
? How do I get online in the {place}?
U We seat [{=5#} guests] at the *{gig}*, tight but doable.
+ After the weekend's replies the *{gig}* grew to [{=8#} guests], help.
? How many chairs do we need for the {gig}?
U I gave the *{box}* [{=1# GB}] of *memory*, more won't fit on the board.
+ Found another stick in a drawer: the *{box}* has [{=3# GB}] of *memory* since last night.
? How much RAM is in the {box}?
M So far the *{app}* has a budget of [${=^,+##}] for *hosting*, as you put it.
+ Taking the cut into account, *hosting* for the *{app}* gets [${=^,+##}] and not a cent beyond.
? What can be spent on servers for the {app}?
M At its present weight the *{vet}* should have [{=1## ml}] of the *syrup* twice daily.
+ In light of the blood test, reduce the *{vet}*'s *syrup* to [{=^# ml}] twice daily.
? What dose does the {vet} take?
M The *{hive}* can be fed [{=+.#} litres] of *sugar* water each evening.
+ Seeing how fast the *{hive}* empties the tray, [{=1#.#} litres] of *sugar* water is better.
? How much feed goes to the {hive}?
M *{lib}* should be pinned at [{=+.##.1}] for now, that was the last calm release.
+ The fix is out, so lift the pin of *{lib}* to [{=+.##.^}] everywhere.
? Which release of {lib} do we stay on?
"""

"""English facts of the seen profile: the author of the extractor may look at failures here."""

SLOTS = """
who: Anna, Ben, Clara, Emma, Felix, Grace, Leo, Mia, Noah, Oscar, Ruby, Tom
first: Alice, Brian, Dorothy, Edward, Fiona, Gareth, Helen, Ivan, Judith, Kenneth, Louise, Martin, Nora, Philip
last: Ashdown, Barlow, Corrigan, Dunmore, Everett, Fairley, Gosling, Hartnell, Ingram, Jessop, Kirkby, Lomax, Merrick
day: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday
month: March, April, May, June, September, October, November
shop: Holloway, Barnet, Timber and Sons, Wickes, Millbrook, Fenwick
town: Ambleford, Stonehaven, Bramley, Kirkwall, Tavistock, Whitmore
env: staging, production, the sandbox, the demo box
plant: tomatoes, courgettes, raspberries, dahlias, leeks, blackcurrants
dish: sourdough, focaccia, pizza dough, brioche
part: retry, locking, caching, paging
bug: login loop, memory leak, blank page, double mail
damage: water damage, broken window, stolen bike, hail damage
club: rowing, chess, tennis, choir
"""

LABELS = """
decision: Decision, Decided, Decision for the record
rule: Rule, Important, House rule
task: To do, Reminder, Still open
other: Note, Remember, For the record
"""

LEADS = """
Oh, and
By the way,
Also,
Ah right,
Anyway,
As it happens,
And then
"""

NUMBER = """
U The *boiler* in the *{house:cellar|holiday flat|workshop|annexe}* only behaves at [{=1.#} bar], anything above that
  and the relief valve starts to drip.
? What pressure does the heating in the {house} want?
U The physio wants *{who}* to hold the *{move:plank|side bend|hamstring stretch|wall sit}* for [{=+#} seconds], three
  times a day and not longer.
? For how long should {who} keep up the {move}?
U We lowered the request *timeout* on *{env}* to [{=+##} ms] because the gateway kept queueing behind it.
? After what time does {env} give up on a call?
U For the *{dish}* I ended up using [{=+##} g] of rye starter, which is a bit more than the book says.
? How much leaven goes into the {dish}?
U The queue *worker* for *{job:invoices|thumbnails|newsletters|imports}* never needs more than [{=+##} MB], so I capped
  the container there.
? What memory ceiling does the process for {job} have?
U I measured it twice and the niche for the *{furn:fridge|wardrobe|washing machine|bookcase}* in the new flat is
  exactly [{=1##.#} cm] wide.
? How broad is the gap where the {furn} should go?
M With a bed that size, the *{plant}* do best with about [{=+#} cm] from one to the next.
? What spacing was recommended for the {plant}?
M At your current rate the *{pot:holiday|roof|bike|school trip}* fund should reach [{=+,+##} euros] by the end of
  spring.
? What sum will the savings for the {pot} come to?
M I would set the *pool* of the *{svc}* service to [{=+#} connections], which leaves headroom for the nightly jobs.
? How many database links did you advise for {svc}?
"""

PATH = """
U The rounding bug sits in [src/{mod}/{file}.py:{=+##}], somebody floors the *{kind:invoice|refund|voucher|shipping}*
  total before the tax is added.
? Where in the code does the {kind} sum go wrong?
U I keep the scan of the *{doc:lease|passport|warranty|birth certificate}* under
  [~/Documents/{folder}/scan-{=####}.pdf], the paper one is at my mother's.
? Where on my computer is the digital copy of the {doc}?
U The flaky test for *{feat:uploads|coupons|password resets|exports}* is [tests/{mod}/test_{file}.py:{=+#}], it fails
  about every tenth run.
? Which unit test about {feat} is unreliable?
U *{who}*'s *{col:wedding|baby|diving|graduation}* pictures ended up in [/mnt/nas/photos/{folder}_{=20##}], next to the
  old videos.
? On which drive folder are {who}'s {col} shots?
U Our *{club}* accounts live in [shared/{folder}/book-{=####}.ods], and only the treasurer may write there.
? Which spreadsheet holds the finances of the {club} club?
M The *{part}* logic starts in [internal/{mod}/{file}.go:{=+##}], so that is where I would put the breakpoint.
? In which source line does {part} begin?
M I put the packing list for *{trip:Lisbon|the Alps|Crete|Dublin}* into [lists/{folder}-{=###}.md], with the medicine
  on top.
? In which file is what we take along to {trip}?
M The failing migration for the *{table:customers|bookings|payments|inventory}* table is
  [db/migrate/{=0###}_{file}.sql:{=+#}], it adds a column without a default.
? Which database change breaks {table}?
"""

ID = """
U The *{item:dishwasher|cargo bike|sofa bed|heat pump}* was ordered under number [{=@@-######}], in case the hotline
  asks.
? What is the purchase reference of the {item}?
U I bisected it, and the *{bug}* first shows up in commit [{=%%%%%%%%}] from last month.
? Which revision introduced the {bug}?
U *{who}*'s new *library* card says [{=#### #### ##}], the old one got lost on the bus.
? How does the number for {who}'s book lending read?
U Our booking code for the *{leg:ferry|night train|rental car|campsite}* is [{=@@#@##}], they only accept it together
  with a passport.
? Under which reservation did we get the {leg}?
U The insurance filed the *{damage}* as claim [{=+#-####-####}], they want to answer within two weeks.
? What case do they handle the {damage} under?
M The trace you pasted belongs to request [req_{=%%%%%%%%%%}], the one where *{svc}* answered twice.
? Which call was it that {svc} replied to two times?
M From your photo, the *{dev:router|printer|thermostat|oven}* has the serial number [{=@#@@####}], so it is still under
  warranty.
? What is printed on the type plate of the {dev}?
M According to the lock file, the image on *{env}* was pinned to [sha256:{=%%%%%%%%%%%%}] when it last worked.
? Which build was {env} on while it was fine?
"""

URL = """
U *{who}*'s teacher uploads the homework to [https://{site}.org/class/{=#??#}], you don't even need a password for it.
? Where do I find what {who} has to do for school?
U The photos from the *{event:summer party|regatta|christening|village fair}* are at [https://{site}.net/a/{=????##}],
  but the link dies in a month.
? What was the address of the {event} album?
U The *dashboard* for *{env}* is at [https://{site}.io/d/{=%%%%%%}], you need the VPN for it.
? Where can I look at the graphs of {env}?
U I bought the *{part2:hinges|grout|roof tiles|mixer tap}* at [https://{site}.com/shop/{=#####}], delivery is free
  above fifty euros.
? Which online store sold us the {part2}?
U All the screenshots about the *{bug}* are in [https://{site}.dev/issues/{=+###}], please read the last comment first.
? Which ticket documents the {bug}?
M The official form for *{matter:a change of address|the parking permit|the dog licence|child benefit}* is at
  [https://{site}.gov/f/{=@#-###}] and takes ten minutes.
? On which page does one apply for {matter}?
M There is a good walkthrough about *{topic:feature flags|connection pools|blue-green releases|rate limits}* at
  [https://{site}.io/guide/{=###}], with diagrams.
? Which tutorial did you suggest for {topic}?
M My version of the *{dish}* is based on [https://{site}.com/r/{=####}], only with half of the salt.
? What source does your {dish} recipe come from?
"""

PERSON = """
U The *{trade:plumber|electrician|tiler|roofer}* who did the neighbours' house is called [{first} {last}] and only
  answers text messages.
? What is the name of the {trade} from next door?
U *{who}*'s new *{role:maths teacher|violin teacher|swimming coach|paediatrician}* is [{first} {last}], very calm and
  with endless patience.
? Who looks after {who} now as {role}?
U On the *{team:payments|mobile|data|platform}* team it is [{first} {last}] who signs off releases, even during the
  holidays.
? Which person approves what {team} ships?
U At the bank, [{first} {last}] handles our *{deal:mortgage|building loan|savings plan|joint account}* and likes to be
  called before noon.
? Who do I phone about the {deal}?
U The *{thing:piano|caravan|lawnmower|cot}* goes to [{first} {last}], who will pick it up with a trailer.
? Who gets our {thing}?
M Going by the history, [{first} {last}] wrote most of the *{part}* code, so that is the person to ask.
? Who knows {part} best?
M The minutes of the *{club}* club name [{first} {last}] as the new treasurer, elected with one vote more.
? Who minds the money for {club}?
M The letter you pasted about the *{damage}* is signed by [{first} {last}], so address the reply there.
? Who at the insurer wrote to us because of the {damage}?
"""

DECISION = """
U We're going with [the {wood:oak|walnut|beech|ash} worktop from {shop}] in the end, mainly because [it can be sanded
  down again].
? Why did we choose {wood} for the kitchen surface?
U After that long call we picked [{tech} for the {svc} queue], since [{=^} of us have run it before].
? What will carry the messages of {svc}, and for what reason?
U The kids voted, so we spend the {hol:autumn|winter|spring|Easter} break [at the lake near {town}], because [the train
  takes under {=^} hours].
? Where do we travel in the {hol} holidays?
U I made up my mind and will [have {who}'s knee done in {month}], as [the waiting list is shortest then].
? When is the operation of {who}, and why at that time?
U The {svc} code stays [in one repository with the {tool:mobile|admin|partner|kiosk} app], so that [a release is one
  single tag].
? How is {svc} kept together with the {tool} client?
M So you settled on [splitting the {svc} tables by {dim:tenant|region|customer|month}], because [that keeps every index
  under {=+#} GB].
? What is the partitioning of {svc} like?
M Then it is [{plant} in the {side:south|north|east|west} bed this year], given that [the soil there gets {=^} hours of
  sun].
? What grows on the {side} side, and why?
M As agreed, [the {pot:holiday|roof|bike|school} money goes to the {bank:credit union|savings bank|online bank}],
  because [it pays {=+.#} percent until {month}].
? Where do we park the cash for the {pot}?
"""

RULE = """
U Never [give {who} anything with {food:hazelnuts|shellfish|lactose|sesame}], last time [we ended up in the emergency
  room].
? What must {who} not eat?
U Please don't [deploy {svc} after {=1+}:00 on a {day}], because [nobody is on call that night].
? When is it forbidden to ship {svc}?
U Under no circumstances may you [restore {env} from the {day} dump], it [still holds real customer data].
? Which backup is off limits for {env}?
U Nobody is to [use the {room:hallway|kitchen|attic|garage} socket while the {dev:oven|dryer|welder|kiln} runs],
  otherwise [the main fuse goes].
? What do we avoid with the {room} plug?
U In mails to {who} I don't want [any mention of the {topic:inheritance|old flat|wedding bill|car}], it [only starts
  the quarrel again].
? What should stay out of letters for {who}?
M You should never [mix the {cleaner:drain cleaner|bleach|limescale remover|toilet gel} with vinegar], because [the
  fumes are poisonous].
? What is dangerous in combination with {cleaner}?
M Do not [write the {field:birth date|card number|home address|tax number} of a customer to the log], the audit [counts
  that as a breach].
? What about the {field} must never be recorded?
M Don't [prune the {plant2:cherry tree|lilac|hydrangea|magnolia} in {month}], since [it already carries the buds].
? At what time should the shears stay away from the {plant2}?
"""

TASK = """
U I still have to [call the {office:town hall|landlord|health insurance|nursery} about {who}'s
  {paper:form|deposit|place}] [before {day} noon].
? Which phone call for {who} is outstanding?
U Somebody needs to [rotate the {svc} signing key] [before the {date:14th|17th|24th|26th|28th}].
? What has to be renewed for {svc}, and by what date?
U Once the paint is dry I want to [put the {room:hall|nursery|study|attic} skirting back on], [probably on {day}].
? What carpentry in the {room} is left?
U We haven't managed to [bring the {thing:ladder|trailer|tent|drill} back to {who}] yet, they [need it by {day}].
? What do we owe to {who}?
U What's left on my side is to [write the {svc} load test] and [show it to the team on {day}].
? Which benchmark around {svc} am I supposed to present?
M Still missing is [the {file} check for {env}], which you [wanted to add by {day}].
? What did I intend to build for {env}?
M You also wanted to [ask {who} about the {item:spare key|car seat|guest bed|tent}] [when you meet on {day}].
? What question is there for {who}?
M Open on the list: [order {=+#} litres of {stuff:paint|topsoil|varnish|fertiliser}] [from {shop} by {day}].
? What supplies of {stuff} must be bought?
"""

REJECTED = """
U We had a closer look at [the {brand:Solero|Markant|Veltura|Nordlicht} awning] and dropped it, because [it rattles in
  every gust].
? What speaks against the {brand} sun shade?
U I tried [{tech} as the {svc} cache] for a week and took it out again, [it lost {=+#} keys on every restart].
? Which storage for {svc} did not work out?
U The idea with [{who}'s birthday at the {place:climbing hall|farm|swimming pool|museum}] is off the table, [it is
  booked out until {month}].
? Why is there no party for {who} in the {place}?
U We thought about [moving to {town}] and decided against it, [the commute would be {=+#} minutes].
? Why did {town} not become our home?
U {who} suggested [{fw:GraphQL|gRPC|web sockets|a message bus} between {svc} and the app], but we won't do that, [it
  needs a second gateway].
? What happened to {who}'s proposal for {svc}?
M So [the {way:coast road|night ferry|sleeper train|mountain pass} to {town}] is out, since [it costs {=+#} euros more].
? Which route towards {town} was discarded?
M I would not come back to [the {kind:keto|raw food|juice|cabbage} diet], your doctor [ruled it out because of the
  {=+#} kidney value].
? Why should I stay away from {kind} as a way of eating?
M We ruled out [sharding {svc} by {dim:hash|date|country|user}], because [the reports join {=^} shards].
? What was turned down for scaling {svc}?
"""

UPDATE = """
U *{who}*'s *{appt:dentist|eye test|vaccination|haircut}* is on {day} at [{=1#:~5}], I'll take the car.
+ The practice rang about *{who}*'s *{appt}*, it had to be moved and is at [{=1#:~5}] now.
? At what time does {who} have to be there for the {appt}?
U The *{svc}* service runs with a *timeout* of [{=+#} seconds] at the moment, which feels generous.
+ I changed the *timeout* of *{svc}* today, it is down to [{=+#} seconds] and nobody has complained.
? How long may {svc} take before it is cut off?
U The rent for the *{flat:flat in Mill Lane|garage|studio|storage room}* is [{=+##} euros] a month, without heating.
+ They raised the rent for the *{flat}*, from next month on it's [{=+##} euros].
? What do we pay for the {flat}?
U *{who}*'s *shoe* size is [{=3#.5}], in case somebody asks about a present.
+ *{who}* has grown again, the *shoe* size is [{=4~.5}] since this week.
? Which footwear fits {who}?
U The *{svc}* release is planned as version [{=+.#.1#}], feature freeze is two days before.
+ Small correction, *{svc}* goes out as [{=+.#.2#}] because the first build was broken.
? Under which number will {svc} be shipped?
U The door code at the *{place:boathouse|holiday flat|rehearsal room|allotment}* is [{=+###}], please keep it to
  yourself.
+ They changed the door code of the *{place}*, you get in with [{=+###}] instead.
? What do I type in at the entrance of the {place}?
U For the *{club}* evening we have [{=1#} people] on the list so far, including the two from next door.
+ Two cancelled and one came along, so the *{club}* evening is at [{=2#} people] as of today.
? How many guests come to {club}?
M With the offer from *{shop}* the *{work:windows|stairs|floors|shutters}* would cost [{=+,+##} euros], everything
  included.
+ With the corrected offer from *{shop}* the *{work}* come to [{=+,+##} euros], the old sum no longer counts.
? What price does {shop} ask for the {work}?
M The nightly backup of *{svc}* should start at [0{=+}:{=~5}], right after the import.
+ Because the import takes longer these days, let the *{svc}* backup start at [0{=+}:{=~5}] instead.
? When do we save {svc}?
M Water the *{plant}* with [{=1#} litres] a week for now, always in the evening.
+ In this heat the *{plant}* need [{=2#} litres] a week, so please forget my earlier figure.
? What amount does one pour on the {plant}?
"""

"""English small talk of the unseen profile: the text around the facts. None of it is scored."""

TALK = """
Greetings from the passenger seat, we're stuck behind a {slow:tractor|caravan|herd of sheep|hearse}.
I'm typing with one thumb, the other one got a plaster after the bread knife incident.
The heating came back at last, and with it the will to live.
{kin} taught me a card game yesterday and I lost {=^#} rounds in a row.
There was fog on the fields, it looked like a film.
My inbox says {=+##} unread and I choose not to believe it.
I made a risotto that could have been used as plaster.
Someone at work microwaved fish, the whole floor is in mourning.
I am behind on everything, but cheerfully so.
The dog next door howls along with the {noise:ice cream van|church bells|bin lorry}.
Our rehearsal went on until eleven, my ears are still ringing.
I cleaned the kitchen instead of doing my taxes, as is tradition.
{kin} claims to have seen a {bird:kingfisher|heron|buzzard|golden oriole}, without proof as usual.
The pipeline took {=^#} minutes to tell me that I'd forgotten a comma.
There is a smell of varnish in the stairwell and nobody knows why.
My notebook fell into the sink, so this is me reconstructing my brain.
I had to explain to my father what a browser tab is, twice.
We've been living off leftovers since the party, mostly olives.
Turns out I can sleep through two alarms and a fire drill.
The kids built a den out of every cushion we own.
Half the crew is down with the flu, the other half is pretending not to be.
I spent the lunch break on a bench, watching ducks argue.
It's the time of year when I buy seeds and never sow them.
A customer wrote us a poem, it rhymes "cancel" with "pencil".
I'm told the {machine:dishwasher|coffee grinder|projector} makes a noise like a small plane.
The tests pass on my laptop, which everyone knows is what counts.
Rain on the tent, tea from the flask, honestly it could be worse.
I finally watched the talk from the meetup at one and a half times the speed.
{kin} sends a thumbs up and a picture of a sandwich.
The lift has been out for {=^} weeks, my calves are magnificent.
Our quiz team came {rank:fourth|fifth|sixth|ninth} again and celebrated as if it had won.
My aunt is knitting something with {=^} sleeves and won't explain.
I keep mixing up left and right when I'm tired, so double-check me.
The moon was huge last night, I tried to photograph it and got a crumb.
There are {=1#} tabs open and one of them is playing music.
Apparently the town has {=^##} roundabouts, I've been through all of them today.
I know it's a mixed bag of things, my week is like that.
The sofa arrived, it does not go through the door, nobody laughed.
Coffee number {=^} is in my hand, so brace yourself.
The new colleague hums while compiling, which I find soothing.
I sat in on a meeting about meetings.
Let me dump what's in my head before I lose it.
The lake was warm enough to swim, if you're brave or eleven.
I burned the toast and blamed the firmware.
Somebody at the allotment grows pumpkins the size of a {big:washing machine|Labrador|beanbag}.
I lost a bet with {kin} and now owe everybody {treat:ice cream|doughnuts|a lasagne|churros}.
My {garment:jumper|left boot|best shirt|rain hat} shrank, or else I grew.
{kin} has opinions about {subject:fonts|compost|roundabouts|oat milk} and shared all of them.
Our {vehicle:ferry|bus|tram|taxi} broke down and we sang for {=^#} minutes to pass the time.
I've named the {appliance:vacuum robot|printer|sourdough starter|radiator} after a {rank:Roman emperor|pop star}.
There's a {bug2:moth|spider|ladybird|bumblebee} on my screen and I'm debugging around it.
Every {weekday:Monday|Tuesday|Thursday} somebody at work brings {treat:ice cream|doughnuts|a lasagne|churros}.
The fair had a {ride:carousel|ghost train|helter-skelter} and I felt {=^} years old.
{kin} cut my fringe with the {tool:kitchen|nail|garden} scissors, so no video today.
We drove past {=^#} scarecrows, one of them wore a tie.
The radio played nothing but {genre:polka|disco|sea shanties} on the way here.
My calendar is a {shape:mosaic|battlefield|patchwork}, please bear with me.
I dreamt about {dream:a flooded library|talking geese|an endless escalator} and woke up with the answer to nothing.
A neighbour has put up {=^#} {ornament:gnomes|lanterns|flamingos} overnight.
It smells of {scent:rain|paraffin|cinnamon|wet dog} in here and I rather like it.
"""

ASK = """
How does that strike you?
What am I not seeing?
Talk me through it?
Could you tidy that up for me?
Is it silly to do it in that order?
Where would you start?
Can we make that less of a chore?
Give me your honest opinion.
What would you tell {kin}?
Would it hurt to wait a bit?
Any pitfalls?
Does anything in there worry you?
"""

REPLY = """
Good, that gives me enough to work with.
I'd begin with whatever is blocking other people.
There's no harm in leaving this for a quieter day.
Nine times out of ten it's the adapter.
A rehearsal without an audience will tell you more than any plan.
If the instructions contradict each other, trust the newer sheet.
Bees, like people, dislike being rushed.
You might split it into a part for you and a part for {kin}.
What usually helps is to write the test before touching anything.
A pinch of salt brings out the sweetness, oddly enough.
Try turning the problem around: what would have to be true for it to be easy?
Keep the receipts in one envelope and future you will be grateful.
That's a matter of taste, and yours seems fine to me.
The documentation is silent on this, so a small experiment is the quickest answer.
Let it cool for {=^#} minutes before you cut it.
A guest who feels useful is a happy guest, so hand out little jobs.
It won't be perfect, and it doesn't have to be.
The noise is probably a bearing, and bearings are cheap.
Anything older than {=^} years can go to the attic.
I would test the restore as well, since a copy nobody has opened is only a hope.
Children under {=^} usually travel for free, but ask.
One slow query can make a whole page feel broken.
Gravel drains better than you'd think.
Your instinct is right, the second option carries less risk.
Put the heavy things at the bottom and the fragile ones on your lap.
Consider asking the venue whether they lend out lights.
A backup singer can hide a surprising number of wrong notes.
Please don't feel obliged to answer everybody on the same day.
Sometimes the cheapest fix is a sticky label.
The colours will look different in the evening.
Most visitors never scroll that far.
It could be either of the two, and the logs will tell.
A dog walks better with the person who feeds it.
If it still squeaks afterwards, a drop of oil does wonders.
Take the early slot, the waiting room fills up quickly.
I'd phrase it as a question and not as a demand.
You have plenty of slack there, about {=^#} percent.
Measure once more before drilling, walls are rarely straight.
Let me know how the evening goes, I like a good story.
A handwritten card weighs more than a present.
Older hardware copes, it just takes its time.
Nothing in that list strikes me as urgent.
Start the song lower, everyone will thank you.
That's one for the daylight.
Perhaps sleep on it, the offer won't vanish overnight.
A {helper:neighbour|cousin|student|retired teacher} will often do that for a {pay:cake|coffee|lift}.
Put a {cover:tarpaulin|blanket|lid|towel} over it and the problem is half solved.
The {time:morning|afternoon|evening} light is kinder to that sort of thing.
{kin} sounds like the right person to try it out first.
I'd expect the {component:dashboard|importer|search box|front page} to cope with that just fine.
Between you and me, {=^#} slides are too many for any audience.
The {dish:paella|goulash|pie|chowder} can be made the day before, it only gets better.
A {material:cork|foam|rubber|felt} mat under it takes away most of the noise.
Nobody will count the {objects:napkins|commas|candles|screws}, so relax.
One {pet:dog|cat|hen} is company, {=^} are a committee.
The {crowd:audience|jury|landlord|committee} will remember how it ended, hardly how it began.
For a {trip:weekend|day|fortnight} away, that is more than enough luggage.
What I like about the {choice:second|third|last} sketch is its calm.
Swap the {pair:first and second|last two|two middle} steps and it flows better.
If the {thing:kettle|cable|speaker|hinge} gets warm, that's normal up to a point.
Ask {kin} what they would miss, that's usually the part to keep.
There may be a {discount:student|group|winter|loyalty} discount worth asking about.
I once read that {=^#} percent of such projects end up in a drawer.
A {colour2:pale|dark|striped|plain} background would make it easier to read.
That {tune:melody|recipe|query|paragraph} has one ingredient too many.
"""

DECOYS = """
What if it were {=+##} instead, purely as a thought experiment, would you still shrug?
In the novel the hero hides {=+###} coins in lib/{pkg}/{src}.ts:{=+##}, well, almost.
Picture a stadium with {=^#},000 people all humming, that's what it felt like.
Say a stranger offered you £{=^##} for your bike, you'd refuse as well, wouldn't you?
A made-up sample would be "{given} {family}, table {=^}", only to show the layout.
Someone on the radio gave out their number as 0800 {=######}, I nearly called for fun.
Links such as https://sample.invalid/{=???###} always look suspicious to me.
If I were paid per bug I'd have earned {=+##} euros by now, but I'm not.
The crossword wanted a river with {=^} letters, and we gave up.
Were the fence {=^.#} metres higher, the deer would laugh at it anyway.
"""

OPENERS = """
Speaking for myself,
The way I see it,
On reflection,
Let me put it like this:
For what it is worth,
Quick thought:
"""

"""English small talk of the seen profile: the text around the facts. None of it is scored."""

TALK = """
It has been raining since {day} and the washing just won't dry.
I slept badly, so please forgive me if this comes out a bit jumbled.
The neighbours are having their {what:roof|drive|kitchen|chimney} done and the noise starts before seven.
{who} says hi, we had {food:soup|pancakes|a roast|dumplings} together and talked for hours.
I spent half of the morning looking for my glasses, which were on my head.
Work was quiet today, most people are still on holiday.
We walked {=1#},{=###} steps through {town} on Sunday and my feet still hurt.
I have a cup of {drink:tea|coffee|cocoa|ginger water} next to me and about an hour of peace.
My sister keeps sending me pictures of {pet:her cat|the puppy|other people's goats|her sourdough}.
The new bakery on the corner is fine, but the rolls are tiny.
There was a queue of maybe {=+#} people at the post office again.
I know I ask a lot of questions, but it does help to write things down.
The train was late, so I read {=+#} pages of that novel you recommended.
Somebody left the window open and now the whole {room:hall|study|bathroom|landing} is freezing.
{who} has a cold and I'm slowly getting a sore throat myself.
We finally watched that film everybody talks about, and I fell asleep in the middle.
The build was red for most of the afternoon, mostly because of the runners.
I went through the logs with a sandwich in my hand and didn't see anything odd.
Reviews take forever at the moment, everyone is busy with their own branch.
I still find the naming in that module a bit unlucky, but that's a matter of taste.
The stand-up took {=^#} minutes again because of a discussion about tabs.
Our office plant has lost another leaf, there are {=^} left.
The garden looks wild, but the bees seem to enjoy it.
I tried your tip with the damp cloth and it worked surprisingly well.
On the way home I bumped into {who}, we hadn't seen each other in {=^} years.
Prices are mad, I paid almost {=^} euros for a {small:cauliflower|tin of olives|bunch of mint|lemon tart}.
I like to sort this out before the weekend, otherwise I keep thinking about it.
The cat has decided that the moving boxes belong to her.
Nothing urgent here, I'm just tidying up my notes and thinking aloud.
It's one of those weeks in which everything happens on the same day.
I read somewhere that people check their phone {=1##} times a day, and I believe it.
Grandpa called and told me the story about the {story:goose|tractor|lighthouse|lost suitcase} again.
We've got visitors on {day}, so the flat has to look halfway decent.
I'm not in a hurry, take the points in whatever order you like.
The weather app promised sun and then it hailed for {=1#} minutes.
I have been putting this off for weeks, so I'm glad that we're doing it together.
My colleague swears by paper lists, I never know where I put mine.
There's jazz coming from upstairs, somebody is practising the same {=^} bars.
I had planned to go running, but the sofa won.
Half of the team is at a conference in {town}, so the chat is wonderfully silent.
The screenshots didn't help much, they only show the spinner.
I restarted everything twice, purely out of superstition.
What I like about the old setup is that everybody understands it.
The coffee machine at work is broken again, and morale with it.
We should do something nice on {day}, the last weeks were exhausting.
My {limb:shoulder|knee|wrist|back} complains whenever I sit at the desk for more than {=^#} minutes.
{who} lent me a {thing:novel|drill|cookbook|raincoat} and I promised to be careful with it.
The {shop2:chemist|hardware store|library|garage} was closed, of course, on the one day I had time.
I spilled {drink:tea|coffee|juice|soup} on the keyboard, which explains any missing letters.
A parcel came for {who} and has been blocking the {room:hall|study|landing|porch} since {day}.
The {item:radiator|tap|fan|door} in the office has started to sing in a minor key.
I took {=^#} photos of the {view:sunset|market|old bridge|river} and deleted all but one.
On {day} the whole street smelled of {smell:bread|tar|lilac|bonfire}.
We counted {=1#} {bird:swifts|herons|magpies|gulls} above {town} and felt very grown up.
There's a {music:brass band|choir|drummer|piano} practising somewhere behind the {place:church|school|pub}.
I am wearing two different socks, which tells you how the day began.
The {job:nightly job|release bot|linter|scanner} complained about something again and then forgave us.
{who} has discovered {hobby:pottery|chess|juggling|calligraphy} and talks about nothing else.
The lamp above the {table:desk|stove|stairs|sink} flickers at every lorry that passes.
It took {=^} calls to reach anybody at the {office2:council|dentist's|bank|school}, so I'm in a mood.
"""

ASK = """
What do you think, does that sound sensible?
Could you put that into order for me?
Is there anything that I've overlooked?
How would you go about it?
Can you write me two or three sentences that I could send to {who}?
Do you see a simpler way?
What would be a good next step?
Would you rather do this first, or can it wait until {day}?
Does that fit with what we said before?
Could you explain the last part once more, please?
Any idea why that happens?
Shall we leave it at that for today?
"""

REPLY = """
That sounds reasonable, and I would go about it in small steps.
Thanks for the details, that makes the picture a good deal clearer.
It is worth waiting for a dry day before you start with the outside.
In general, the simplest version that works is the one you will still understand in a year.
I would write to {who} first, since everything else depends on the answer.
There are usually two or three ways to do this, and they differ mostly in the effort.
You can take your time with the rest, nothing there is going to spoil.
A short note to everybody involved often saves a long discussion afterwards.
If it rains on {day}, you could still do the indoor part and lose nothing.
I would look at the logs around that moment before changing any settings.
Most tools offer this as an option, although the wording in the menus differs.
It may help to do it once by hand, so that you see where the time goes.
Try it on a small sample, and only then on everything.
That is a common stumbling block, so don't let it discourage you.
For the colour, a warm white tends to look friendlier in rooms facing north.
Let the dough rest in the fridge overnight if it sticks to your hands.
People often underestimate how long the sanding takes.
A friendly tone works better than a long list of paragraphs.
I can turn this into a message if you like.
The order is not critical, except that the measuring should come first.
You may want to take a photo beforehand, just for comparison.
If the first attempt fails, a second one after {=^#} minutes often succeeds.
With two people it goes much faster than alone.
It depends a little on the season, of course.
Many families solve this with a shared calendar on the fridge.
A spare set of screws is always a good idea.
From what you describe, the cause is more likely in the configuration than in the code.
An index would help here only if the query really filters on that column.
It is perfectly fine to leave the old page in place for a while.
I would keep the change small and review it with somebody who knows that corner.
Roughly {=^} out of ten such cases turn out to be a cabling problem.
Drink enough water and take a break every now and then.
The children will probably enjoy the journey more than the museum.
You could also ask in {town}, they had something similar last year.
Wool holds the shape better, cotton is easier to wash.
I understand the frustration, these forms are not written for people.
Should the weather turn, you still have the option to go by train.
A list with three columns is enough, you don't need a program for it.
As far as I can tell, nothing else depends on it.
I would not worry about the rounding in the preview, it is only for display.
Once that is done, the rest is mostly routine.
Take the slower road if you are tired, the view is nicer anyway.
When in doubt, ask for a written confirmation.
Please tell me how it went, I'm curious whether it worked.
Both variants are fine, so choose the one that feels less like work.
A {tool:ruler|pencil|spirit level|notebook} within reach saves a surprising number of trips.
For a {room:hall|study|bathroom|landing} of that kind I would go with matt paint.
The {season:autumn|spring|winter|summer} tends to be the better time for this sort of thing.
You could ask {who} to have a second look, fresh eyes find more.
A {meal:stew|curry|casserole|broth} like that tastes better on the second day.
It usually takes about {=^#} minutes until one gets the hang of it.
The {part3:adapter|cable|driver|cache} is the first suspect in such cases.
In {town} there was a talk about exactly this, perhaps they put it online.
A colleague would probably say that {=^} rounds of review are enough for this.
If {who} is unsure, a trial week does no harm.
The {fabric:linen|wool|cotton|felt} will shrink a little, so allow for that.
There is rarely a need to do everything on a {day}.
A {sign:label|sticker|sketch|checklist} on the wall helps everybody who comes later.
With {animal:children|guests|dogs|teenagers} in the house I would plan in some slack.
It reads well, and I would only shorten the {passage:opening|middle|ending|second paragraph}.
The {doc2:manual|changelog|leaflet|help page} is a bit dry, but the pictures are good.
Some {group:teams|families|clubs|schools} rotate this every {=^} weeks and are happy with it.
You might want to air the {room:hall|study|bathroom|landing} afterwards.
The nicest part of {town} is said to be the {spot:harbour|market|old wall|park}.
A {vehicle:van|tram|bicycle|trolley} would do as well, to be fair.
"""

DECOYS = """
If the room were {=^.#} metres longer, a second sofa would fit, but it isn't.
Let's say someone charged {=1##} euros an hour, would that be normal around here?
For example, a file like src/{mod}/{file}_old.py:{=+##} would be hard to find, hypothetically speaking.
Suppose we had {=+##} users at once, which we don't, would that change anything?
In the film the spy's safe had the code {=+###}, and nobody ever guessed it.
A typical address of that kind looks like https://example.org/{=???}/{=###}, just to show the pattern.
Imagine it took {=^#} days, then I'd understand the fuss.
In a quiz yesterday they asked for the height of some tower, it was {=3##} metres.
My old phone number ended in {=####}, funny what one remembers.
You could write something like "{first} {last}, third floor" on a label, that was only an example.
"""

OPENERS = """
To be honest,
In my experience,
Generally speaking,
If you ask me,
As far as that goes,
My impression is that
"""

"""What tools return, and how replies use it, in two wordings; the author of the rules looks at the
first one only.

A block is a kind of result. Slots are those of `wording`, and `{value}` is the value of the line:

    @ tool argument     the call
    ! text              the query that leads to it
    . line              lines around the facts
    - line              a fact: its value in brackets; the block's first slot is its subject
    > text              a reply that names subject and value
    ~ text              a reply that uses the value without its subject
    ? text              a question about it
"""

SLOTS = """
svc: ferrygate, mailroom, tidewatch, quotabox, larkspur, stonemill, inkwell, driftnet, copperline, oakmoss
job: reindex, thumbnails, invoicing, cleanup, geocoding, payouts, backups, exports, digests, warmup
func: parse_header, load_tiles, merge_rows, sign_token, trim_cache, fold_lines, pick_route, send_batch, walk_tree
item: hinges, dowels, lamp oil, felt pads, brackets, sandpaper, wing nuts, cork sheets, rope clamps
client: Halvorsen, Okafor, Lindqvist, Moreau, Tanaka, Petrov, Castellano, Wozniak, Abernathy, Nakamura
mod: core, billing, reports, uploads, search
word: buffer, stream, window, record, cursor, handle, packet, folder, signal, column
"""

SEEN = """
@ read_file deploy/{svc}.yaml
! I need to know how {svc} is deployed. Please read its file and tell me about port and memory.
. {word}_{=???}: {=+#}
.   - name: {word}-{=???}
. # {word} of the {word}, see the {word}
-   port: [{=5###}]
> The *{svc}* deployment listens on port {value}.
~ Its port is {value} there, so the client was configured correctly.
? On which port does {svc} accept connections?
-   memory_limit: [{=+##Mi}]
> The *{svc}* pods may take {value} of memory.
~ The limit is {value}, which explains the restarts.
? How much RAM may {svc} use?
-   image: registry.example/*{svc}*:[{=+.##.#}]
> The image of *{svc}* is tagged {value}.
~ You are on {value}, so the fix is not in yet.
? Which build of {svc} is rolled out?

@ run_command grep {job} logs/worker.log
! The {job} job was slow last night. Can you find out in the log what happened?
. 2026-03-1{=#} 0{=#}:{=~#}:{=~#} INFO {word}: {=+##} done in {=+#} ms
. 2026-03-1{=#} 0{=#}:{=~#}:{=~#} DEBUG {word} {=%%%%%%} released
- 2026-03-1{=#} 04:{=~#}:{=~#} WARN *{job}*: gave up after [{=+## s}]
> The *{job}* job gave up after {value}.
~ It waited {value} before it stopped, which is far too long.
? How long did {job} try until it failed?
- 2026-03-1{=#} 04:{=~#}:{=~#} INFO *{job}*: host [node-{=##}.{word}.internal]
> The *{job}* job ran on {value}.
~ That was on {value}, which had a full disk.
? On which machine was {job} executed?
- 2026-03-1{=#} 05:{=~#}:{=~#} INFO *{job}*: run [{=%%%%}-{=%%%%}-{=####}] archived
> The archived run of *{job}* is {value}.
~ You find everything under {value} if you need it.
? Under which id was {job} archived?

@ search_files {func}
! Where does {func} live, and which limits does it have?
. src/{mod}/{word}.py:{=+##}:     return {word}({=+#})
. tests/{mod}/test_{word}.py:{=+#}: from src.{mod} import {word}
- src/{mod}/{word}_{=??}.py:[{=+###}]: def *{func}*(source, limit):
> *{func}* is defined in line {value} of its module.
~ The definition is in line {value}, right below the imports.
? In which line does {func} begin?
- src/{mod}/limits.py:{=+#}: *{func}*_timeout = [{=+## ms}]
> The timeout of *{func}* is {value}.
~ It is set to {value}, and I would double that.
? After what time does {func} stop waiting?
- src/{mod}/limits.py:{=+#}: *{func}*_url = "[https://{word}.example/v{=+}/{=???}]"
> *{func}* calls {value} for that.
~ The request goes to {value}, which answers slowly.
? Which address does {func} ask?

@ read_file data/stock.csv
! Please look up the {item} in the stock list: how many are left, and what do they cost?
. {word}; {=+##}; {=@}{=#}; {=+.##}
- *{item}*; row; [{=+#@#}]
> The stock row of the *{item}* is {value}.
~ That is row {value}, near the end of the list.
? What is the code of the row with the {item}?
- *{item}*; price; [EUR {=+#.##}]
> A pack of *{item}* costs {value}.
~ They are {value} now, a little more than before.
? What do we pay for the {item}?
- *{item}*; delivery; [2026-0{=+}-1{=#}]
> The next delivery of *{item}* is due on {value}.
~ New ones come on {value}, so order early.
? When do more {item} arrive?

@ web_fetch https://crm.example/accounts/{client}
! Could you fetch the account of {client}? I want to call them this afternoon.
. "{word}_{=??}": {=+##},
. "{word}": "{word} {word}",
-   "phone": "[+44 20 7{=###} {=####}]",
> The phone number of *{client}* is {value}.
~ Dial {value} after two o'clock, and ask for the office.
? What number do I call to reach {client}?
-   "contract": "[CT-{=#####}]",
> The contract of *{client}* has the number {value}.
~ Mention {value} at the beginning, that saves time.
? Which agreement covers {client}?
-   "discount": "[{=1#.#} %]",
> *{client}* gets a discount of {value}.
~ You may offer {value}, as last year.
? What rebate was promised to {client}?
"""

UNSEEN = """
@ run_command kubectl describe pod {svc}
! Something is wrong with {svc} in the cluster. What does the pod say?
. Normal   {word}   {=+#}m   kubelet   {word} {word}
.     {word}.example/{=???}: {word}
- Name:             *{svc}*: [{=%%%%%%%}-{=????}]
> The pod of *{svc}* is called {value}.
~ The one that fails is {value}, all others are fine.
? What is the name of the failing {svc} pod?
-     Last State:     Terminated, Exit Code [{=+###}]
> *{svc}* ended with the exit code {value}.
~ It ended with {value}, so the kernel killed it.
? With what status did {svc} stop?
-     Limits: cpu [{=+## m}], no memory
> *{svc}* may use {value} of a processor.
~ Raise the {value} a little and it will start in time.
? How much processor time is {svc} granted?

@ run_command ./bench {job}
! Please run the benchmark of {job} and compare it with last week.
. {word}/{word}-{=#}      {=+##}      {=+##} B/op
. ok  {mod}/{word}  0.{=##}s
- Benchmark *{job}*: median [{=+##.# ms}] of 30
> The benchmark of *{job}* takes {value} in the median.
~ I measured {value}, a tenth faster than before.
? How quick is {job} in the middle of all rounds?
- Profile of *{job}* written to [/tmp/prof/{word}-{=####}.out]
> The profile of *{job}* is in {value}.
~ Open {value} in the viewer, the flame is obvious.
? Where is the recording of {job}?
- *{job}* commit [{=%%%%%%%}{=#}], branch {word}
> *{job}* was measured at commit {value}.
~ That was at {value}, before the rebase.
? Which revision of {job} did we time?

@ read_file src/{mod}/{func}.go
! I do not understand {func}. Can you read the file and explain its constants?
. 	{word} := {word}({=+#})
. // {word} returns the {word} of a {word}.
. 	}
- 	maxRetries = [{=1###}] // see the incident
> *{func}* retries {value} times at most.
~ It gives up after {value} tries, which is a lot.
? How often does {func} try again?
- 	const *{func}*Window = "[{=+## min}]"
> The window of *{func}* is {value}.
~ The window is {value}, not an hour.
? What span does {func} look at?
- 	// *{func}*: owner is [{=???}-team@{word}.example]
> The owner of *{func}* is {value}.
~ Ask {value} before you change it.
? Who is responsible for {func}?

@ web_fetch https://shop.example/search?q={item}
! Can you check in the shop whether they have {item}, and at what price?
. <li>{word} {word} <b>{=+#}.{=##}</b></li>
. <p>{word} and {word}, {word}</p>
- <h2>*{item}*, article [{=###}.{=###}.{=##}]</h2>
> The *{item}* have the article number {value}.
~ Put {value} into the basket, the others are too thin.
? Under which number are the {item} listed?
- <span class="price">[£{=+#.##}]</span>
> The *{item}* cost {value} there.
~ They want {value}, with postage.
? How much money for the {item}?
- <p>Pick up *{item}* until [{=1#} May {=20##}]</p>
> You can pick up the *{item}* until {value}.
~ They keep them until {value} for you.
? How long are the {item} reserved?

@ read_file mail/{client}.eml
! What did {client} write in the last mail? I only remember that it was about the delivery.
. > {word} {word} {word}, {word} {word}.
. X-{word}: {=%%%%%%%%%%%%}
- Please quote [RMA-{=####}-{=@@}] on the parcel.
> The parcel of *{client}* needs the mark {value}.
~ Write {value} on it, otherwise they send it back.
? What must be on the box for {client}?
- We, *{client}*, expect it at [{=1#}:{=~#}] on Thursday.
> *{client}* expects the parcel at {value}.
~ It should be there at {value}, so leave early.
? At what hour does {client} want it?
- Our account is [DE{=##} {=####} {=####} {=####}].
> The account of *{client}* is {value}.
~ Transfer it to {value}, please.
? Where do I send the money for {client}?
"""

FILLER = """
I looked at it, and most of it is as I expected.
The rest of the output is routine and does not matter here.
I can go through the details with you if you like.
Nothing else in there looks suspicious to me.
That fits what you described earlier.
I would leave everything else as it is for now.
The older entries say much the same.
Tell me if I should look further.
"""

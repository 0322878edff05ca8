"""FactChain: the planted facts that are left of a conversation that is compacted, and the cost.

    wording, wordings/      texts with slots: three profiles, seven languages, ten types of facts
    talk                    a seeded conversation of ten segments, and every fact in it
    tools                   the same with questions that are answered by tools
    summarisers, standin    the models: one that loses, one that fails; and the one in the chat
    ours                    the program itself: the only file that knows its interface
    baselines               the methods of other programs, around the same summarizers
    scoring                 is a fact there, whole and with its subject?
    run                     a conversation with the program
    automatic, worst        what a user gets, beside the methods; ten typed compactions, and failures
    meter                   the tokens and the money of requests
    pages, plot             the tables and the curve on the pages

`python -m benchmarks --only factchain` measures all of it.
"""

"""FactChain: the planted facts that are left after one, three, five and ten compactions, and the
cost.

    wording, wordings/      texts with slots: three profiles, seven languages, ten types of facts
    talk                    a seeded conversation of ten segments, and every fact in it
    tools                   the same with questions that are answered by tools
    summarisers, standin    the models: one that loses, one that fails, a real one; and the one in the chat
    ours                    the program itself: the only file that knows its interface
    baselines               the methods of other programs, around the same summarizers
    scoring                 is a fact there, whole and with its subject?
    run, report, plot       all arms over all talks; the table, the goals, JSON and SVG

`python -m benchmarks.factchain` runs it; `--help` lists its options.
"""

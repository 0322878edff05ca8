"""FactChain: which planted facts are left after one, three, five and ten compactions, and what that
costs.

    wording, wording_*      texts with slots: two profiles, five languages, ten types of facts
    talk                    a seeded conversation of ten segments, and every fact it holds
    summarisers, standin    the models: one that loses, one that fails, a real one; and what answers in the chat
    ours                    the program itself: the only file that knows its interface
    baselines               what other programs do, around the same summarisers
    scoring                 is a fact there, whole and with its subject?
    run, report, plot       all arms over all talks; the table, the goals, JSON and SVG

`python -m benchmarks.factchain` runs it; `--help` says what else there is.
"""

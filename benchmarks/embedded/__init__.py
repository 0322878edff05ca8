"""Embedded: the exact facts that a small real model still gives after several compactions.

The recommended embedded model chats for 60 exchanges in a window of 4,096 tokens, in which the user
states 50 exact facts, some of them again later with a newer value. Then it answers a question about
each fact from contexts of about the same size. There are three such conversations, by their seed.

    script      the user's messages, with facts in FactChain's unseen English wording
    model       the embedded model, and a record of its answers
    contexts    the program's conversation, a summary of the summary, and the newest messages
    answers     is an answer right? counts and comparisons
    run         the conversation, the contexts and the questions

`python -m benchmarks.embedded` runs it; `--help` lists its options.
"""

"""Continued: tasks that are begun before several automatic compactions and finished after them.

In each of two scripted conversations, the user begins ten tasks with a rule, a plan, a format or a
function to be fixed, and then talks about other things. The recommended embedded model writes the
summaries, in a window of 4,096 tokens, and finishes each task with a last answer. The answer is
checked by running it.

    conversations/  the tasks: how each begins, what is asked in the end, and the check
    script          a conversation's turns, with small talk between the tasks
    arms            what the model sees before it answers
    table           the tasks that were solved
    check           runs an answer's code and the check in a process of their own

`python -m benchmarks.continued` runs it; `--help` lists its options.
"""

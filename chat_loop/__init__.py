"""Terminal chat for large language models; every conversation is a markdown file.

Layout, lowest layer first (nothing imports upward; `tests/test_architecture.py` checks it):

    values, events, errors, wording
                                what everything speaks
    tokens, config              estimates of sizes; settings, read once
    sessions/                   the file format and the only code that writes transcripts
    models/                     the catalogue of embedded models and their installation
    providers/                  one adapter per wire protocol, all yielding the same events
    agent/                      a provider with a name, a system prompt and one visible retry loop
    context/                    what the model sees: budget, ledger, summary, restoration
    turn                        one reply, from the agent into the file
    conversation                one chain as it goes on: ask, save, compact, resume, end
    display/, lines, prompt     the doors to the terminal: out; in without an editor and with one
    commands/                   one function per command, its docstring is its help
    loop                        read -> command or turn -> show -> save
    interactive, headless, subcommands, cli
                                argv -> config -> objects -> run; `start` draws the prompt before all that is loaded
"""

__version__ = "0.1.0"

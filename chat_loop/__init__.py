"""Terminal chat for large language models; every conversation is a markdown file.

Layout, lowest layer first (nothing imports upward; `tests/test_architecture.py` checks it):

    values, events, errors, wording, redact, frontmatter
                                what everything speaks; secrets taken out of a text; YAML on top of
                                markdown
    tokens, config, options     estimates of sizes; settings, read once; the command line
    sessions/                   the file format, and the manager that writes transcripts
    search/                     exchanges found by what was said in them
    memory                      facts of the project, in a file of the user's, given to the model
    attach/                     files named in a query: found, read, completed while they are typed
    library/                    all sessions of a folder: the index, listings, search, chains
    export/                     sessions as documents for others, and what others send
    models/                     the catalogue of embedded models and their installation
    providers/                  one adapter per wire protocol, all yielding the same events
    agent/                      a provider with a name, a system prompt, tools, MCP servers and
                                one retry loop; the files that define one, and their trust
    context/                    what the model sees: budget, plan, ledger, summary, archive
    conversation/               the live end of a chain: turns, compaction, resume, attachments
    display/, input/, browser/  the doors to the terminal: out; in, with an editor or without, and
                                the prompt before all is loaded; sessions on the whole screen
    commands/                   one function per command, its docstring is its help
    loop                        read -> command or turn -> show -> save
    app, interactive, headless, subcommands/
                                from options, config and agent file to objects; a chat; one
                                question; the acts without a chat
    cli                         argv -> config -> run
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chat_loop.agent.agent_files import Agent
    from chat_loop.agent.functions import changes

__version__ = "0.1.0"

__all__ = ["Agent", "__version__", "changes"]


def __getattr__(name: str) -> object:
    """`Agent` and `changes`, for the files that define an agent; the program itself starts without
    them.
    """
    if name == "Agent":
        from chat_loop.agent.agent_files import Agent

        return Agent
    if name == "changes":
        from chat_loop.agent.functions import changes

        return changes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The completion scripts of the shells, from the levels of the command line (pure).

Each walks over the words before the cursor to find the command it is in and the option whose value
is wanted. What a word can be that only the disk knows is asked of `chat-loop completion --values
KIND`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chat_loop.subcommands.completion import Level

ASKED = ("sessions", "agents", "install", "remove")
"""Kinds of values that the program is asked for."""

_BASH = """\
# bash completion for chat-loop: source <(chat-loop completion bash)
_chat_loop() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} at=/ option= kind= list= word i
    [[ $cur == = ]] && cur=
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        [[ $word == = ]] && continue
        if [[ -n $option && ( $word != -* || $word == - ) ]]; then option=; continue; fi
        option=
        case "$at $word" in
{walk}
        esac
    done
    if [[ -n $option && $cur != -* ]]; then
        case "$at $option" in
{valued}
        esac
    elif [[ $cur == -* ]]; then
        case $at in
{options}
        esac
    else
        case $at in
{words}
        esac
    fi
    case $kind in
        {asked}) list="$list $(command "${{COMP_WORDS[0]}}" completion --values "$kind" 2>/dev/null)" ;;
    esac
    COMPREPLY=($(compgen -W "$list" -- "$cur"))
    case $kind in
        files | agents) [[ ${{#COMPREPLY[@]}} -gt 0 ]] || compopt -o default 2>/dev/null ||
            {{ local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); }} ;;
        folders) compopt -o dirnames 2>/dev/null || {{ local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$cur")); }} ;;
    esac
}}
complete -F _chat_loop chat-loop chat_loop
"""

_ZSH = """\
#compdef chat-loop chat_loop
# zsh completion for chat-loop: source <(chat-loop completion zsh), after compinit; or a file _chat-loop in $fpath
_chat_loop() {{
    local cur=${{words[CURRENT]}} at=/ option= kind= word i
    local -a list
    for ((i = 2; i < CURRENT; i++)); do
        word=${{words[i]}}
        if [[ -n $option && ( $word != -* || $word == - ) ]]; then option=; continue; fi
        option=
        case "$at $word" in
{walk}
        esac
    done
    if [[ -n $option && $cur != -* ]]; then
        case "$at $option" in
{valued}
        esac
    elif [[ $cur == -* ]]; then
        case $at in
{options}
        esac
    else
        case $at in
{words}
        esac
    fi
    case $kind in
        ({asked}) list+=(${{(f)"$(command ${{words[1]}} completion --values $kind 2>/dev/null)"}}) ;;
    esac
    if (( ${{#list}} )); then
        if [[ $cur == -* ]]; then _describe -o option list; else _describe value list; fi
    fi
    case $kind in
        (files|agents) _files ;;
        (folders) _files -/ ;;
    esac
}}
if [[ ${{funcstack[1]}} == _chat-loop ]]; then _chat_loop "$@"; else compdef _chat_loop chat-loop chat_loop; fi
"""

_FISH = """\
# fish completion for chat-loop: chat-loop completion fish | source
function __chat_loop_at
    set -l at /
    set -l option ''
    for word in (commandline -opc)[2..-1]
        if test -n "$option"; and string match -qvr -- '^-.' $word
            set option ''
            continue
        end
        set option ''
        switch "$at $word"
{walk}
        end
    end
    test "$at" = "$argv[1]"
end
for command in chat-loop chat_loop
    complete -c $command -f
{lines}
end
"""


def bash(levels: Sequence[Level]) -> str:
    """The script for bash, from version 3.2 on."""
    return _BASH.format(
        walk=_walk(levels, '("{0}") at={1} ;;', '("{0}") option=$word ;;'),
        valued=_lines(_valued(levels, "list")),
        options=_lines(
            f"({level.at}) "
            f'list="{" ".join(name for option in level.options for name in option.names)}" ;;'
            for level in levels
        ),
        words=_lines(
            f"({level.at}) "
            f'list="{_joined([name for name, _ in level.commands], level.values)}" '
            f"kind={level.kind} ;;"
            for level in levels
        ),
        asked=" | ".join(ASKED),
    )


def zsh(levels: Sequence[Level]) -> str:
    """The script for zsh."""
    return _ZSH.format(
        walk=_walk(levels, '("{0}") at={1} ;;', '("{0}") option=$word ;;'),
        valued=_lines(_valued(levels, "array")),
        options=_lines(
            f"({level.at}) "
            f"list=({_joined([_told(name, one.help) for one in level.options for name in one.names])}) ;;"
            for level in levels
        ),
        words=_lines(
            f"({level.at}) "
            f"list=({_joined([_told(name, text) for name, text in level.commands], level.values)})"
            f" kind={level.kind} ;;"
            for level in levels
        ),
        asked="|".join(ASKED),
    )


def _joined(*words: Sequence[str]) -> str:
    return " ".join(word for part in words for word in part)


def _told(name: str, text: str) -> str:
    """A word with its help, as zsh reads it."""
    return f"'{name}:{text}'"


def _valued(levels: Sequence[Level], form: str) -> Iterator[str]:
    for level in levels:
        for option in level.options:
            if option.takes and (option.values or option.kind):
                names = "|".join(f'"{level.at} {name}"' for name in option.names)
                words = _joined(option.values)
                listed = f"({words})" if form == "array" else f'"{words}"'
                yield f"({names}) list={listed} kind={option.kind} ;;"


def _walk(levels: Sequence[Level], down: str, valued: str) -> str:
    """The cases of the walk: a command leads down, an option that takes a value waits for it."""
    lines = []
    for level in levels:
        below = level.at.rstrip("/")
        lines += [
            down.format(f"{level.at} {name}", f"{below}/{name}") for name, _ in level.commands
        ]
        lines += [
            valued.format(f"{level.at} {name}")
            for option in level.options
            if option.takes
            for name in option.names
        ]
    return _lines(lines)


def _lines(lines: Iterator[str] | Sequence[str]) -> str:
    return "\n".join(f"            {line}" for line in lines)


def fish(levels: Sequence[Level]) -> str:
    """The script for fish, from version 3 on."""
    walk = _walk(levels, 'case "{0}"; set at {1}', 'case "{0}"; set option $word')
    lines = []
    for level in levels:
        here = f"    complete -c $command -n '__chat_loop_at {level.at}'"
        lines += [f"{here} -a {name} -d '{text}'" for name, text in level.commands]
        lines += [f"{here} -a '{' '.join(level.values)}'"] if level.values else []
        lines += [f"{here} {_from(level.kind)}"] if level.kind else []
        for option in level.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.takes:
                value = " -x" if option.kind not in ("files", "folders", "agents") else " -r"
                value += f" -a '{' '.join(option.values)}'" if option.values else ""
                value += f" {_from(option.kind)}" if option.kind else ""
            lines.append(f"{here} {names}{value} -d '{option.help}'")
    return _FISH.format(walk=walk, lines="\n".join(lines))


def _from(kind: str) -> str:
    """Where fish takes values of a kind from."""
    if kind in ("files", "folders"):
        return "-F" if kind == "files" else "-a '(__fish_complete_directories)'"
    files = " -F" if kind == "agents" else ""
    return f"-a '(command $command completion --values {kind} 2>/dev/null)'{files}".replace(
        "$command", "chat-loop"
    )

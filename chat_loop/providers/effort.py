"""The effort of a model as services spell it, and as they refuse it.

- `reasoning_effort`: https://platform.openai.com/docs/api-reference/chat/create, for Gemini
  https://ai.google.dev/gemini-api/docs/openai, Grok https://docs.x.ai/docs/guides/reasoning, Groq
  https://console.groq.com/docs/reasoning, Mistral https://docs.mistral.ai/capabilities/reasoning,
  Azure https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning and Ollama
  https://github.com/ollama/ollama/issues/14820, which reads `think` at its own interface only
- `reasoning`: https://openrouter.ai/docs/use-cases/reasoning-tokens
- `thinking`: https://api-docs.deepseek.com/guides/thinking_mode, whose effort cannot be none
- `template`: vLLM and llama-server, whose templates know one of two names for it:
  https://docs.vllm.ai/en/latest/features/reasoning_outputs,
  https://github.com/ggml-org/llama.cpp/pull/20479
- Claude: https://platform.claude.com/docs/en/build-with-claude/effort; before version 4.6 it takes
  a budget: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from chat_loop.providers.capabilities import bare_name, known_efforts
from chat_loop.values import EFFORTS, USUAL_EFFORT

Style = Literal["reasoning_effort", "reasoning", "thinking", "template"]
"""How a server that speaks Chat Completions takes the effort."""
CLAUDE = tuple(effort for effort in EFFORTS if effort != "minimal")
"""The efforts of Anthropic's Messages."""
TEMPLATE = ("chat_template_kwargs",)
NAMES = ("reasoning_effort", "reasoning", "thinking", "output_config", *TEMPLATE)
"""The parameters of a request that the effort makes."""
LEAST_BUDGET = 1024  # tokens of thinking, the least that Claude takes
BUDGETS = {"low": 2048, "medium": 8192, "high": 16_384}
LARGEST_BUDGET = 32_768
_BUDGETED = re.compile(r"claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[015])?(?![-\d])(?!\.[6-9]))")
_DATE = re.compile(r"[-@]20\d{6}")
_ABOUT = re.compile(
    r"\befforts?\b|reasoning_?effort|\bthink(?:ing)?\b|\breasoning\b", re.IGNORECASE
)
_OFFERS = re.compile(
    r"\b(?:supported|allowed|accepted|available|valid|one of|must be|should be|expected)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(rf"\b(?:none|{'|'.join(EFFORTS)})\b", re.IGNORECASE)


def effort_names(others: Collection[str]) -> list[str]:
    """Return the parameters that the effort makes, unless they are among `others`."""
    return [name for name in NAMES if name not in others]


def on_wire(effort: str) -> str:
    """Return an effort as servers call it: `off` is `none`."""
    return {"off": "none"}.get(effort, effort)


def nearest(effort: str, offered: Sequence[str]) -> str:
    """Return the greatest of the `offered` efforts that is at most `effort`, or the least one above
    it. Thinking is never turned off in its place. Return "" if there is none.
    """
    if effort in offered or effort in ("", USUAL_EFFORT):
        return effort
    levels = [level for level in EFFORTS if level in offered and level != "off"]
    below = [level for level in levels if EFFORTS.index(level) < EFFORTS.index(effort)]
    return next(iter([*reversed(below), *levels]), "")


def is_about_effort(message: str) -> bool:
    """Return True if a refusal is about the effort, as far as its words tell."""
    return _ABOUT.search(message) is not None


def offered_in(message: str, refused: str) -> tuple[str, ...]:
    """Return the efforts that a refusal names instead of the `refused` one, the least first."""
    marker = _OFFERS.search(message)
    if marker is None:
        return ()
    words = {word.lower() for word in _WORDS.findall(message, marker.end())}
    return tuple(effort for effort in known_efforts(words) if effort != refused)


def chat_parameters(style: Style, effort: str) -> dict[str, object]:
    """Return the parameters of Chat Completions for an effort."""
    word = on_wire(effort)
    if not effort:
        return {}
    if style == "reasoning":
        return {"reasoning": {"effort": word}}
    if style == "thinking" and effort == "off":
        return {"thinking": {"type": "disabled"}}
    parameters: dict[str, object] = {"reasoning_effort": word}
    if style == "template" and effort == "off":
        parameters["chat_template_kwargs"] = {"enable_thinking": False}
    elif style == "template":
        parameters["chat_template_kwargs"] = {"enable_thinking": True, "reasoning_effort": word}
    return parameters


def has_budget(model: str) -> bool:
    """Return True for a Claude whose thinking takes a budget of tokens instead of an effort."""
    return _BUDGETED.match(_DATE.sub("", bare_name(model))) is not None


def message_parameters(effort: str, longest: int, *, budgeted: bool) -> dict[str, object]:
    """Return the parameters of Anthropic's Messages for an effort, in a reply of at most `longest`
    tokens, which include those of the thinking. What is thought comes as a summary.
    """
    if not effort:
        return {}
    if effort == "off":
        return {"thinking": {"type": "disabled"}}
    if not budgeted:
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": effort}}
    budget = min(BUDGETS.get(effort, LARGEST_BUDGET), longest // 2)
    if budget < LEAST_BUDGET:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}

"""The providers by name: how each is reached, and how it differs from what its protocol promises.

`providers: NAME:` in the config changes an entry, or adds one: a name that is not in the table is a
server that speaks OpenAI's Chat Completions. Windows stand in `capabilities`, prices in `prices`;
`models:` in the config overrides both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.config import REFERENCE, Config, ProviderConfig, completed
from chat_loop.errors import ConfigError, NoProvider
from chat_loop.providers.servers import is_near

Kind = Literal["anthropic", "bedrock", "openai", "azure", "local", "scripted"]
"""Which adapter speaks to it. `openai` is every server that speaks Chat Completions."""


class Quirks(Struct, frozen=True, kw_only=True):
    """How a server differs from others that speak Chat Completions."""

    limit: str = "max_tokens"
    """What it calls the ceiling of a reply."""
    counts: bool = True
    """Whether it understands `stream_options`, with which it is asked for the usage."""
    fixed_temperature: tuple[str, ...] = ()
    """What the names of models begin with that answer any `temperature` but their own with 400."""
    no_tools: tuple[str, ...] = ()
    """What the names of models begin with that have no tools here."""
    tagged: bool = True
    """Whether reasoning may stand in the reply's text, between `<think>` and `</think>`."""
    marked: tuple[str, ...] = ()
    """What the names of models begin with whose cache is told of by marks, as on Anthropic's own
    wire.
    """
    briefly: tuple[tuple[str, object], ...] = ()
    """What a request for a summary holds more, so that its ceiling is not used up by reasoning."""
    wants_reasoning: bool = False
    """Whether calls are sent back with the reasoning that led to them; without it they are
    refused.
    """


class Entry(Struct, frozen=True, kw_only=True):
    """A provider. What the user sets of it in the config has been put in."""

    name: str
    """The provider's part of a model reference."""
    title: str
    kind: Kind = "openai"
    base_url: str = ""
    """Empty: the SDK's own address, or that of a variable."""
    keys: tuple[str, ...] = ()
    """The variables that may hold the key; the first that is set counts."""
    needs_key: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request; `${NAME}` in a value stands for what the variable holds."""
    model: str = ""
    """Taken when none is named; empty where that would be a guess. A server on this machine is
    asked.
    """
    tools: bool = True
    quirks: Quirks = Quirks()
    silent: bool = False
    """Whether its list of models holds nothing but their names."""
    max_tokens: int = 0
    """Ceiling of a reply when the request names none; 0 leaves it to the server, or to what the
    model can.
    """
    api_version: str = ""
    region: str = ""
    profile: str = ""

    @property
    def here(self) -> bool:
        """Whether it is a server that somebody starts on this machine, without a key."""
        return is_near(self.base_url) and not self.needs_key

    def key(self, environment: Mapping[str, str]) -> str:
        """The key that is set, or ""."""
        return next((value for name in self.keys if (value := environment.get(name, ""))), "")

    def sent_headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """`headers` with the values of the variables that they name. Raises NoProvider for one that
        is not set.
        """
        try:
            return completed(self.headers, environment)
        except ConfigError as error:
            raise NoProvider(error.message, error.hint) from error


OPENAI_QUIRKS = Quirks(
    limit="max_completion_tokens",
    fixed_temperature=("o1", "o3", "o4", "gpt-5"),
    no_tools=(
        "gpt-5.6",
        "o1-mini",
        "o1-preview",
        "chatgpt-4o",
    ),  # never, or only while they do not reason
    tagged=False,
)

_TABLE = (
    Entry(
        name="anthropic",
        title="Anthropic",
        kind="anthropic",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        needs_key=True,
        model="claude-sonnet-5-5",
    ),
    Entry(
        name="openai",
        title="OpenAI",
        keys=("OPENAI_API_KEY",),
        needs_key=True,
        model="gpt-5.4-mini",
        silent=True,
        quirks=OPENAI_QUIRKS,
    ),
    Entry(
        name="gemini",
        title="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        needs_key=True,
        model="gemini-flash-latest",
        silent=True,
    ),
    Entry(
        name="grok",
        title="xAI Grok",
        base_url="https://api.x.ai/v1",
        keys=("XAI_API_KEY",),
        needs_key=True,
        model="grok-4.3",
        silent=True,
        quirks=Quirks(tagged=False),
    ),
    Entry(
        name="mistral",
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
        needs_key=True,
        model="mistral-medium-latest",
    ),
    Entry(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        keys=("DEEPSEEK_API_KEY",),
        needs_key=True,
        model="deepseek-v4-flash",
        silent=True,
        quirks=Quirks(
            tagged=False, briefly=(("thinking", {"type": "disabled"}),), wants_reasoning=True
        ),
    ),
    Entry(
        name="groq",
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        keys=("GROQ_API_KEY",),
        needs_key=True,
        model="openai/gpt-oss-120b",
        quirks=Quirks(limit="max_completion_tokens"),
    ),
    Entry(
        name="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        needs_key=True,
        model="openrouter/auto",
        quirks=Quirks(marked=("anthropic/",)),
    ),
    Entry(
        name="azure",
        title="Azure OpenAI",
        kind="azure",
        silent=True,
        keys=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        needs_key=True,
        quirks=Quirks(
            limit="max_completion_tokens",
            fixed_temperature=("o1", "o3", "o4", "gpt-5"),
            tagged=False,
        ),
    ),
    Entry(name="bedrock", title="Amazon Bedrock", kind="bedrock"),
    Entry(
        name="ollama",
        title="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        keys=("OLLAMA_API_KEY",),
    ),
    Entry(name="lmstudio", title="LM Studio", base_url="http://127.0.0.1:1234/v1"),
    Entry(name="llama-server", title="llama-server", base_url="http://127.0.0.1:8080/v1"),
    Entry(name="vllm", title="vLLM", base_url="http://127.0.0.1:8000/v1", keys=("VLLM_API_KEY",)),
    Entry(
        name="compatible", title="a compatible server", keys=("COMPATIBLE_API_KEY",), tools=False
    ),
    Entry(name="local", title="the embedded model", kind="local", tools=False),
    Entry(name="scripted", title="scripted replies", kind="scripted", model="echo", tools=False),
)
"""In the order in which the automatic choice at start considers them."""

CATALOGUE: Mapping[str, Entry] = {entry.name: entry for entry in _TABLE}


def entries(settings: Mapping[str, ProviderConfig]) -> dict[str, Entry]:
    """All providers by name, with what the user sets of them; those of the user's own come last."""
    return {
        name: entry_of(name, settings)
        for name in (*CATALOGUE, *(own for own in settings if own not in CATALOGUE))
    }


def keys_in(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """The keys and tokens that config and environment hold for providers and MCP servers."""
    given: list[str] = []
    for entry in entries(config.providers).values():
        yield from (environment.get(name, "") for name in entry.keys)
        given += entry.headers.values()
    for server in config.mcp.values():
        given += [
            *server.headers.values(),
            *(value for name, value in server.env.items() if _SECRET_NAME.search(name)),
        ]
    yield from (environment.get(name, "") for name in _SECRET_VARIABLES)
    for value in given:
        yield from (environment.get(name, "") for name in REFERENCE.findall(value))
        if not REFERENCE.search(value):
            yield value.rpartition(" ")[2]  # behind "Bearer"


_SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def entry_of(name: str, settings: Mapping[str, ProviderConfig]) -> Entry:
    """One provider, with what the user sets of it. Raises KeyError for a name that neither side
    knows.
    """
    setting = settings.get(name)
    if setting is None:
        return CATALOGUE[name]
    entry = CATALOGUE.get(name) or Entry(name=name, title=name, tools=False)
    return replace(
        entry,
        base_url=setting.base_url or entry.base_url,
        keys=(setting.api_key_env,) if setting.api_key_env else entry.keys,
        needs_key=entry.needs_key or bool(setting.api_key_env and name not in CATALOGUE),
        headers={**entry.headers, **setting.headers},
        model=setting.model or entry.model,
        tools=entry.tools if setting.tools is None else setting.tools,
        max_tokens=setting.max_tokens or entry.max_tokens,
        api_version=setting.api_version or entry.api_version,
        region=setting.region or entry.region,
        profile=setting.profile or entry.profile,
    )

"""The providers by name: their addresses, keys, and differences from their protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import (
    REFERENCE,
    Config,
    ProviderConfig,
    WantedField,
    expand_variables,
)
from chat_loop.errors import ConfigError, NoProvider
from chat_loop.providers.effort import Style
from chat_loop.providers.pasted import clean_key, normal_address, trimmed
from chat_loop.providers.servers import is_local_address

Kind = Literal["anthropic", "bedrock", "openai", "local", "scripted"]
"""The adapter of a provider: `openai` for every server that speaks Chat Completions."""

AZURE_ENDPOINT = "AZURE_OPENAI_ENDPOINT"


class ProviderSpec(Struct, frozen=True, kw_only=True):
    """A provider with the user's settings. `no_tools` and `cache_marks` are prefixes of models."""

    name: str
    title: str
    keys: tuple[str, ...] = ()  # the variables for the key; the first that is set counts
    model: str = ""  # the default; if empty, a local server is asked
    base_url: str = ""  # empty: the SDK's own address, or that of a variable
    kind: Kind = "openai"
    key_prefix: str = ""  # with which only its keys begin
    needs_key: bool = False
    headers: Mapping[str, str] = {}  # `${NAME}` in a value stands for the variable
    tools: bool = True
    limit: str = "max_tokens"  # its name for the maximum of a reply
    no_tools: tuple[str, ...] = ()  # models that have no tools here
    think_tags: bool = True  # the reply's text may contain reasoning in `<think>` tags
    cache_marks: tuple[str, ...] = ()  # models whose cache needs Anthropic's breakpoints
    summary_params: Mapping[str, object] = {}  # for a summary, whose maximum reasoning would use up
    wants_back: tuple[WantedField, ...] | None = None  # with its calls; None: unknown
    has_list: bool = True  # it lists the models that can be asked
    lists_names_only: bool = False  # its list of models has only names, or does not exist
    max_tokens: int = 0  # maximum of a reply if the request sets none; 0 leaves it to the server
    region: str = ""
    profile: str = ""
    effort: Style = "reasoning_effort"
    extra: Mapping[str, object] = {}  # parameters of every request, as the user set them
    key_hint: str = ""  # replace the usual hints
    model_hint: str = ""

    @property
    def key_refused(self) -> str:
        """The hint for a key that is missing or refused."""
        setting = f"key for {self.name}: providers.{self.name}.api_key_env names it."
        hint = f"a valid {setting}"
        if self.keys:
            hint = f"{' or '.join(self.keys)} to a valid key."
        return self.key_hint or f"Set {hint}"

    def key(self, environment: Mapping[str, str]) -> str:
        """Return the key that is set, or "". Raises AuthenticationFailed if it cannot be one."""
        values = (clean_key(environment.get(name, ""), name) for name in self.keys)
        return next(filter(None, values), "")

    def at(self, address: str) -> ProviderSpec:
        """Return this provider at another address, as a user writes it."""
        version = {"openai": self.name != "azure" or None, "anthropic": False}.get(self.kind)
        return replace(self, base_url=normal_address(address, version=version))

    def address(self, environment: Mapping[str, str]) -> str:
        """Return the server's address, "" for the SDK's own. Raises NoProvider without one."""
        address = self.base_url
        hint = f"Set providers.{self.name}.base_url, or give --base-url URL."
        if self.name == "azure":
            address = address or self.at(environment.get(AZURE_ENDPOINT, "")).base_url
            if not address.endswith("/v1") or "/openai/deployments" in address:
                address = address.partition("/openai")[0]
                if address:
                    address += "/openai/v1"
            hint = f"Set {AZURE_ENDPOINT}, as https://NAME.openai.azure.com."
        if self.kind == "openai" and self.name != "openai" and not address:
            raise NoProvider(f"The address of {self.title} is not set.", hint)
        return address

    def request_headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return `headers` with the values of their variables. Raises NoProvider."""
        try:
            if self.headers:
                return expand_variables(self.headers, environment)
            return {}
        except ConfigError as error:
            raise NoProvider(error.message, error.hint) from error


_TABLE = Path(__file__).with_name("catalogue.json").read_bytes()
CATALOGUE = {
    entry.name: entry for entry in msgspec.json.decode(_TABLE, type=tuple[ProviderSpec, ...])
}
"""In the order of the automatic choice."""
LOCAL_SERVERS = [name for name, entry in CATALOGUE.items() if is_local_address(entry.base_url)]
"""The servers to look for on this machine."""


def owner_of_key(key: str) -> str:
    """Return the title of the service whose keys begin like this one, or "" if that is unknown."""
    for entry in CATALOGUE.values():
        if entry.key_prefix and key.startswith(entry.key_prefix):
            return entry.title
    return ""


def entries(settings: Mapping[str, ProviderConfig]) -> dict[str, ProviderSpec]:
    """Return all providers by name with the user's settings. The user's own providers come last."""
    return {name: entry_of(name, settings) for name in dict.fromkeys((*CATALOGUE, *settings))}


def entry_of(name: str, settings: Mapping[str, ProviderConfig]) -> ProviderSpec:
    """Return one provider with the user's settings. Raises KeyError for an unknown name."""
    setting = settings.get(name)
    if setting is None:
        return CATALOGUE[name]
    entry = CATALOGUE.get(name) or ProviderSpec(name=name, title=name, tools=False)
    if setting.base_url:
        entry = entry.at(setting.base_url)
    if setting.api_key_env:
        needs_key = entry.needs_key or name not in CATALOGUE
        entry = replace(entry, keys=(setting.api_key_env,), needs_key=needs_key)
    if setting.tools is not None:
        entry = replace(entry, tools=setting.tools)
    if setting.wants_back is not None:
        entry = replace(entry, wants_back=setting.wants_back)
    return replace(
        entry,
        headers={**entry.headers, **setting.headers},
        model=setting.model or entry.model,
        max_tokens=setting.max_tokens or entry.max_tokens,
        region=setting.region or entry.region,
        profile=setting.profile or entry.profile,
    )


def keys_in(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys and tokens of providers and MCP servers in config and environment."""
    names = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"]
    values: list[str] = []
    for entry in entries(config.providers).values():
        names += entry.keys
        values += entry.headers.values()
    secret = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
    for server in config.mcp.values():
        values += server.headers.values()
        values += [value for name, value in server.env.items() if secret.search(name)]
    for value in values:
        names += REFERENCE.findall(value)
        if not REFERENCE.search(value):
            yield value.rpartition(" ")[2]  # after "Bearer"
    yield from (trimmed(environment.get(name, "")) for name in names)

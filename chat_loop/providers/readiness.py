"""What a provider still needs before it can be asked, as far as can be told without asking it."""

from __future__ import annotations

from collections.abc import Mapping

from chat_loop.errors import AuthenticationFailed, NoProvider, ProviderError
from chat_loop.providers.catalogue import Entry


def lacking(entry: Entry, environment: Mapping[str, str]) -> ProviderError | None:
    """The first thing that is missing; None when nothing is. No key is looked at but for being
    set.
    """
    if entry.needs_key and not entry.key(environment):
        names = " or ".join(entry.keys) or "A key"
        return AuthenticationFailed(
            f"{names} is not set.", f"export {entry.keys[0]}=..." if entry.keys else ""
        )
    try:
        entry.sent_headers(environment)
        match entry.kind:
            case "azure":
                from chat_loop.providers.azure import version_of

                version_of(entry, environment)
            case "bedrock":
                from chat_loop.providers.bedrock import check

                check(entry, environment)
            case "openai" if entry.name != "openai" and not entry.base_url:
                hint = f"Set providers.{entry.name}.base_url, or give --base-url URL."
                return NoProvider("It has no address.", hint)
            case _:
                return None
    except ProviderError as error:
        return error
    return None

"""The options of a conversation, as the config sets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct, convert, field, json
from msgspec.structs import asdict, replace

from chat_loop.config import AutoCompactConfig, Config, ModelConfig, overlay
from chat_loop.context.budget import Limits, SummaryOptions
from chat_loop.errors import ConfigError
from chat_loop.providers import Provider
from chat_loop.providers.prices import costs
from chat_loop.sessions.records import Session
from chat_loop.values import EFFORTS, USUAL_EFFORT, Parameters, Usage
from chat_loop.yaml_files import Source

if TYPE_CHECKING:
    from chat_loop.library.semantic import SemanticIndex

AT_START = frozenset(
    f"auto_compact.{name}" for name in ("summary_provider", "summary_model", "show_summary_markers")
)
"""The settings of the compaction that are only read when a chat starts."""
KEPT = frozenset(f"auto_compact.{name}" for name in AutoCompactConfig.__struct_fields__) - AT_START
"""The settings that a session can keep."""
SYSTEM = "agent.system_prompt"
MAX_TOKENS = "max_tokens"
"""The settings that a session keeps of `--system` and `--max-tokens`."""
EFFORT = "effort"
SAMPLING = "sampling"
"""The settings of a session whose model is asked otherwise than its header says."""
FEEDBACK = "summary"  # the session's setting with the user's comment on its first summary


class Options(Struct, frozen=True, kw_only=True):
    """The settings of a conversation. An empty `on_exit` depends on the model. The `summarizer` is
    asked before the agent's model. `cost(provider:model, usage)` is in US dollars, None if unknown.
    """

    acknowledge: bool = True
    on_exit: str = ""
    use_ai_summary: bool = True
    compact_on_resume: bool = False
    attach_from_archive: bool = True
    limits: Limits = field(default_factory=Limits)
    summary: SummaryOptions = field(default_factory=SummaryOptions)
    summarizer: Provider | None = None
    semantic: SemanticIndex | None = None
    cost: Callable[[str, Usage], float | None] = lambda model, usage: None
    config: Config = Config()

    def summarizer_for(self, provider: str) -> Provider | None:
        """Return the model that writes summaries before the conversation's own, which is of a
        `provider`. One that the config names without a provider is of that of new conversations.
        """
        summarizer = self.summarizer
        named = self.config.auto_compact.summary_provider
        if summarizer is None or named or summarizer.name == provider:
            return summarizer
        return None

    def with_settings(self, settings: Mapping[str, str]) -> Options:
        """Return the options with the settings that a session keeps, ignoring invalid ones."""
        config = self.config
        for name in KEPT & settings.keys():
            section, _, key = name.partition(".")
            with suppress(ValueError, MsgspecError, ConfigError):
                config = overlay(
                    config, {section: {key: json.decode(settings[name])}}, Source(name)
                )
        if config is self.config:
            return self
        return options_of(config, self.summarizer, self.semantic)


def options_of(
    config: Config, summarizer: Provider | None, semantic: SemanticIndex | None = None
) -> Options:
    """Return the options that the config sets for a conversation."""
    auto = config.auto_compact
    context = config.context
    on_exit = auto.summary_on_exit
    if isinstance(on_exit, bool):
        on_exit = "background" if on_exit else "later"
    return Options(
        acknowledge=config.resume.acknowledge,
        on_exit=on_exit,
        use_ai_summary=auto.use_ai_summary,
        compact_on_resume=auto.compact_on_resume,
        attach_from_archive=context.attach_from_archive,
        limits=replace(
            convert(auto, Limits, from_attributes=True),
            max_messages=context.max_history_messages,
            max_tokens=context.max_history_tokens,
        ),
        summary=SummaryOptions(
            max_tokens=auto.summary_max_tokens,
            limit=auto.summary_timeout,
            instructions=config.agent.summary_instructions,
        ),
        summarizer=summarizer,
        semantic=semantic,
        cost=costs(config),
        config=config,
    )


def recorded_parameters(session: Session) -> Parameters:
    """Return how the model of a session was asked last, as far as its file says so."""
    settings = session.settings
    effort = settings.get(EFFORT, session.header.effort)
    sampling = settings.get(SAMPLING, session.header.sampling)
    known = ModelConfig()
    with suppress(MsgspecError, RecursionError):
        known = json.decode(sampling or "{}", type=ModelConfig)
    if effort not in (*EFFORTS, USUAL_EFFORT):
        effort = ""
    return replace(known.parameters, effort=effort)


def sampling_text(parameters: Parameters) -> str:
    """Return the parameters other than the effort as a session records them."""
    values = asdict(parameters)
    del values["effort"]
    values = {name: value for name, value in values.items() if value is not None}
    if not values:
        return ""
    return json.encode(values).decode()


def parameters_for(
    model: str, config: Config, given: Mapping[str, str], before: Session | None = None
) -> Parameters:
    """Return how a model, as `provider:model`, is asked: with the effort that is `given` in this
    run, as it was asked in the session `before`, and as the config says.
    """
    name = model.partition(":")[2]
    parameters = config.models.get(name, ModelConfig()).parameters
    if before is not None and before.answering.model == model:
        parameters = recorded_parameters(before).with_fallback(parameters)
    return replace(parameters, effort=given.get(EFFORT) or parameters.effort)


def changed_settings(before: Parameters, after: Parameters) -> dict[str, str]:
    """Return the settings that say how a model is asked otherwise than before."""
    texts = {
        EFFORT: (before.effort, after.effort or USUAL_EFFORT),
        SAMPLING: (sampling_text(before), sampling_text(after) or "{}"),
    }
    return {name: new for name, (old, new) in texts.items() if old != new}

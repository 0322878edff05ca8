"""What services say when they refuse, and what they mean by it: their kinds of errors, and
phrases.
"""

from __future__ import annotations

STATUS_OF_KIND = {
    # https://docs.anthropic.com/en/api/errors
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # https://platform.openai.com/docs/guides/error-codes
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
    "validationexception": 400,
    "accessdeniedexception": 403,
    "throttlingexception": 429,
    "internalserverexception": 500,
    "modelstreamerrorexception": 500,
    "serviceunavailableexception": 503,
    "modeltimeoutexception": 504,
}
"""The `type` or `code` of an error object -> the status it goes with; inside a stream there is no
status.
"""

OVERFLOW = (
    "prompt is too long",  # Anthropic
    "exceed context limit",  # Anthropic, prompt and max_tokens together
    "context_length_exceeded",  # OpenAI, as code
    "maximum context length",  # OpenAI, vLLM
    "maximum prompt length",  # xAI
    "exceed_context_size_error",  # llama-server, as type
    "exceeds the available context size",  # llama-server
    "exceeds the context length",  # Ollama
    "context length of only",  # LM Studio
    "exceeds the maximum number of tokens",  # Gemini
    "input is too long",  # Bedrock
)
"""What a refusal says when the request does not fit the window, in lower case."""

WRONG_KEY = (
    "api key not valid",  # Gemini, with 400
    "api key expired",  # Gemini, with 400
    "incorrect api key",  # xAI, with 400
    "invalid_api_key",
)
"""What a refusal says when the key is wrong, whatever its status; in lower case, as what
follows.
"""

UNPAID = (
    "insufficient_quota",  # OpenAI, with 429: no waiting helps
    "credit balance is too low",  # Anthropic, with 400
    "used all available credits",  # xAI, with 403 or 429
    "insufficient balance",  # DeepSeek
)
"""What a refusal says when the account has run dry."""

UNKNOWN_MODEL = (
    "model_not_found",
    "deploymentnotfound",  # Azure
    "is not a valid model id",  # OpenRouter, with 400
    "model not exist",  # DeepSeek, with 400
    "invalid_model",  # Mistral, with 400
    "model identifier is invalid",  # Bedrock, with 400
    "access to the model",  # Bedrock, with 403
    "on-demand throughput",  # Bedrock, with 400: the id of an inference profile is wanted
)
"""What a refusal says when the model is not known, or not for this account."""

FILTERED = (
    "content_filter",  # Azure
    "content management policy",  # Azure
    "responsibleaipolicyviolation",  # Azure
    "prohibited_content",  # Gemini
    "content_policy_violation",
    "data_inspection_failed",
)
"""What a refusal says when a filter did not let the query through."""

FILTER = 451
"""Stands for a content filter, whose refusals have many statuses."""
MEANT = {401: WRONG_KEY, 402: UNPAID, 404: UNKNOWN_MODEL, FILTER: FILTERED}
"""Status -> what a refusal says when this status is meant, whatever it came with."""

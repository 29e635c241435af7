"""What llama-server answers besides streams: errors, health, identity; and which thinking flag it knows."""

from __future__ import annotations

import re

from tokentrail.tools import lenient_json
from tokentrail.tools.failures import exit_words, last_error, plain_lines, reason

_OVERFLOW = re.compile(r"exceed\w*.{0,40}context|context size", re.I)
_REQUEST_TOKENS = re.compile(r"request \((\d+) tokens\).*?\((\d+) tokens\)")
_BIND = re.compile(r"couldn't bind.*?port:? (\d+)|address already in use", re.I)
_FLAG = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)", re.I)
_MIDDLE_STATUS = {401: "it wants an API key", 403: "it refuses the request", 404: "this path is not known to it",
                  501: "this build or model cannot do what was asked"}  # fmt: skip


def error_body(status: int | None, body: str | bytes) -> dict:
    """The reason in an HTTP answer that is no stream. Status and `type` differ by build; the text decides.

    Codes: context-overflow ("prompt has 909 tokens, context is 512"), server-loading, server-error.
    """
    text = lenient_json.as_text(body).strip()
    error = _error_of(text)
    if error is None:
        what = "an HTML page" if text[:1] == "<" else f"{text[:120]!r}" if text else "nothing"
        sentence = f"HTTP {status}: the answer is {what}, not llama-server's; is another program on this port?"
        return reason("not-llama-server", sentence)
    return error_reason(status, error)


def error_reason(status: int | None, error: dict) -> dict:
    """The reason in an `error` object {code, message, type, n_prompt_tokens, n_ctx}, whichever part is there."""
    message, code = str(error.get("message") or "no message").rstrip("."), error.get("code") or status
    tokens, context = error.get("n_prompt_tokens"), error.get("n_ctx")
    if match := _REQUEST_TOKENS.search(message):
        tokens, context = tokens or match[1], context or match[2]
    if error.get("type") == "exceed_context_size_error" or _OVERFLOW.search(message):
        text = f"prompt has {tokens} tokens, context is {context}" if tokens and context else f"code {code}: {message}"
        return reason("context-overflow", f"{text}; start the server with a larger -c or shorten the prompt")
    if "loading model" in message.lower():
        return reason("server-loading", "the server was still loading the model; wait until /health answers 200")
    hint = _MIDDLE_STATUS.get(code if isinstance(code, int) else 0)
    answered = f"with error code {code}" if code is not None else "with an error"
    sentence = f"the server answered {answered}: {message}" + (f" ({hint})" if hint else "")
    return reason("server-error", sentence)


def health(
    status: int | None,
    body: str | bytes = b"",
    *,
    child_exit: int | None = None,
    stderr: str = "",
    expired: bool = False,
) -> dict:
    """{"state": "ready" | "wait" | "failed", "message"} from one poll of /health.

    status None: connection refused. child_exit: the exit status of our own server, None while it lives; it ends the
    waiting at once, even if the port answers (then another server holds it). expired: the deadline has passed.
    """
    if child_exit is not None:
        taken = status == 200 or any(_BIND.search(line) for line in plain_lines(stderr))
        text = f"our llama-server ended with {exit_words(child_exit)}: {last_error(stderr) or 'nothing on stderr'}"
        return {"state": "failed", "message": text + ("; another server answers on this port" if taken else "")}
    error = _error_of(lenient_json.as_text(body)) or {}
    if status == 200 and not error:
        return {"state": "ready", "message": "ready"}
    busy = status is None or status == 503 or "loading" in str(error.get("message", "")).lower()
    if busy and not expired:
        return {"state": "wait", "message": "loading the model" if status else "not listening yet"}
    if busy:
        tail = " | ".join(plain_lines(stderr)[-3:]) or "nothing"
        return {"state": "failed", "message": f"llama-server was not ready in time; its last words: {tail}"}
    return {"state": "failed", "message": error_body(status, body)["message"]}


def identify(planned: dict, props: dict | None, models: dict | None) -> list[dict]:
    """Reasons why the server that answers is not the planned one; [] where all that is known agrees.

    planned: any of {model_path, n_params, tensor_bytes, build_number}. props: body of /props {model_path,
    build_info}; models: body of /v1/models {data: [{id, meta: {n_params, size}}]}. Something must be comparable.
    """
    props, entry = _dict(props), model_entry(models)
    meta = _dict(entry.get("meta"))
    # The id is the file's name unless the server was given an alias.
    alias = entry.get("id") if str(entry.get("id")).endswith(".gguf") else None
    path = props.get("model_path") or alias
    build = re.search(r"b?(\d+)", str(props.get("build_info") or ""))
    seen = {"n_params": meta.get("n_params"), "tensor_bytes": meta.get("size"), "model_path": _name(path)}
    # Build 0 is a build without git; it can neither confirm nor contradict.
    seen["build_number"] = int(build[1]) if build and int(build[1]) else None
    wanted = {**planned, "model_path": _name(planned.get("model_path"))}
    compared = [n for n in seen if seen[n] is not None and wanted.get(n)]
    if not compared:
        return [reason("server-unknown", "the server says neither its model nor its build, so it may be another one")]
    wrong = [f"{n.replace('_', ' ')} {seen[n]} instead of {wanted[n]}" for n in compared if seen[n] != wanted[n]]
    if not wrong:
        return []
    return [reason("not-our-server", f"another server answers on this port: {', '.join(wrong)}")]


def model_entry(models: object) -> dict:
    """The first model of a /v1/models body, {} where another kind of server answers in another shape."""
    listed = _dict(models).get("data")
    return _dict(listed[0]) if isinstance(listed, list) and listed else {}


def thinking_switch(help_text: str) -> dict:
    """How to keep a model from thinking, by what `--help` lists: {arguments, prompt_suffix, how}.

    `--reasoning off` where it exists (there `--reasoning-budget 0` no longer surely works); `--reasoning-budget 0` in
    builds of 2025; older servers have no flag: "/no_think" goes into the prompt. Verify the answer in any case.
    """
    flags = set(_FLAG.findall(help_text))
    if "--reasoning" in flags:
        return {"arguments": ["--reasoning", "off"], "prompt_suffix": None, "how": "--reasoning off"}
    if "--reasoning-budget" in flags:
        return {"arguments": ["--reasoning-budget", "0"], "prompt_suffix": None, "how": "--reasoning-budget 0"}
    return {"arguments": [], "prompt_suffix": "/no_think", "how": "/no_think in the prompt; this build has no flag"}


def decode_plan_problem(max_tokens: int) -> str | None:
    """Why a request with this max_tokens has no decode rate: one interval needs two tokens (0 still gives one)."""
    if max_tokens >= 2:
        return None
    return f"max_tokens {max_tokens} gives one token at most, and a decode rate needs two; use 2 or more"


def _error_of(text: str) -> dict | None:
    try:
        value = lenient_json.loads(text)
    except ValueError:
        return None
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) else {"message": error} if isinstance(error, str) else None


def _dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _name(path: object) -> str | None:
    return re.split(r"[/\\]", str(path))[-1] if path else None

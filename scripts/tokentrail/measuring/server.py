"""A llama-server of our own: started on a free port, waited for, proven to be ours, asked, stopped."""

from __future__ import annotations

import contextlib
import errno
import http.client
import socket
import time
from typing import Any

import psutil

from tokentrail.jsonio import sha256_text
from tokentrail.measuring import arguments, requests
from tokentrail.measuring.child import Child
from tokentrail.measuring.job import Job, Talk, process
from tokentrail.problems import Problem
from tokentrail.tools import lenient_json, server_answers

# Loading takes seconds; asking this often costs the server nothing and adds at most this to the wait.
POLL_S = 0.02
# A single question to the server (not a timed request) must be answered in this time.
ASK_TIMEOUT_S = 10.0
LOAD_TIMEOUT_S = 600.0
# A dying process closes its connections before it can be seen to have ended: so long is waited for that.
DYING_S = 2.0


def measure(job: Job) -> None:
    """All processes of a server case: each its own server, with the planned requests in rounds."""
    tool = job.tool("llama-server")
    thinking: dict[str, Any] = {"arguments": [], "prompt_suffix": None, "how": "the server's default"}
    if job.case["arguments"].get("reasoning") == "off":
        thinking = server_answers.thinking_switch(tool.help_text)
    for _ in range(job.case["processes"]):
        port = free_port()
        argv = arguments.server(job.case, tool, job.model_path, port, thinking["arguments"])
        session = Session(job, port, thinking)
        record, _ = process(job, argv, session.hold)
        record["server"]["port_free_after"] = _listens_nowhere(port)


def free_port() -> int:
    """A port of 127.0.0.1 that is free now; Problem where that network is down.

    Another program may take the port before our server does; then that exits.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with socket.socket() as probe:
        # as in a container that was given no network at all: said at once, not after the wait for a model
        if probe.connect_ex(("127.0.0.1", port)) == errno.ENETUNREACH:
            raise Problem("127.0.0.1 cannot be reached; give this computer its loopback network (ip link set lo up)")
    return port


def wait_ready(child: Child, port: int, limit_s: float) -> dict[str, Any]:
    """Wait until the server says that its model is loaded; {"waited_ns", "polls"}.

    Raises Problem at once when our process has ended, whoever answers on the port, quoting what it said last.
    """
    start, polls = time.perf_counter_ns(), 0
    while True:
        polls += 1
        status, text = get(port, "/health")
        expired = time.perf_counter_ns() - start > limit_s * 1e9
        ended = child.poll()
        stderr = child.stderr_text() if ended is not None or expired else ""
        found = server_answers.health(status, text, child_exit=ended, stderr=stderr, expired=expired)
        if found["state"] == "failed":
            raise Problem(found["message"])
        if found["state"] == "ready":
            return {"waited_ns": time.perf_counter_ns() - start, "polls": polls}
        time.sleep(POLL_S)


class Session:
    """What happens while one server runs. `hold` is given to job.process; it returns `server` and `requests`."""

    def __init__(self, job: Job, port: int, thinking: dict[str, Any]) -> None:
        self.job, self.port, self.thinking = job, port, thinking
        # a fixed deadline for each wait: a case without a limit still ends
        self.limit_s = float(job.case["timeout_s"] or LOAD_TIMEOUT_S)
        self.server: dict[str, Any] = {
            "port": port,
            "thinking": thinking["how"],
            "gpu_memory": {"before": job.nvml.memory()},
        }
        self.requests: list[dict[str, Any]] = []
        self._suffix = ""

    def hold(self, child: Child) -> dict[str, Any]:
        """Wait, identify, look at the memory, send the requests. Raises Talk, with all that was seen, on a fault."""
        extra = {"server": self.server, "requests": self.requests}
        memory = self.server["gpu_memory"]
        try:
            self.server["health"] = wait_ready(child, self.port, min(self.limit_s, LOAD_TIMEOUT_S))
            self._identify(child)
            memory["loaded"] = self.job.nvml.memory(child.pid)
            # the figures of step 1, at the top: the first GPU's, once the server said it was ready
            memory |= {k: v for k, v in next(iter(memory["loaded"]), {}).items() if k != "index"}
            self.server["rss_bytes"] = _rss(child.pid)
            time.sleep(self.job.case["arguments"].get("settle_s", 0))
            self._send_all(child)
            memory["after"] = self.job.nvml.memory(child.pid)
        except Problem as problem:
            raise Talk(str(problem), extra) from None
        return extra

    def _identify(self, child: Child) -> None:
        """Keep what identifies the server; raises Problem when another one answers."""
        props, models = _json(self.port, "/props"), _json(self.port, "/v1/models")
        planned = {
            "model_path": self.job.model_path,
            "build_number": self.job.engine["build_number"],
            "n_params": (self.job.model or {}).get("parameters"),
            "tensor_bytes": (self.job.model or {}).get("tensor_bytes"),
        }
        wrong = server_answers.identify(planned, props, models)
        ports = _listeners(child.pid)
        if wrong or (ports and self.port not in ports):
            text = wrong[0]["message"] if wrong else f"another program listens on port {self.port}"
            raise Problem(f"{text}; stop the other server and try again")
        template = props.get("chat_template")
        entry, settings = server_answers.model_entry(models), props.get("default_generation_settings")
        self.server["props"] = {
            "build_info": props.get("build_info"),
            "model_path": props.get("model_path"),
            "total_slots": props.get("total_slots"),
            "n_ctx": settings.get("n_ctx") if isinstance(settings, dict) else None,
            "chat_template_sha256": sha256_text(template) if isinstance(template, str) else None,
        }
        self.server["model"] = {"id": entry.get("id"), "meta": entry.get("meta")}
        self._suffix = self.suffix(template)

    def suffix(self, template: str | None) -> str:
        """What builds without a flag need in the prompt; a model whose template knows no thinking needs nothing."""
        word = self.thinking["prompt_suffix"]
        return f" {word}" if word and "think" in (template or "think") else ""

    def _send_all(self, child: Child) -> None:
        """Send the planned requests; each is recorded, whatever became of it, before a fault is raised."""
        case = self.job.case
        texts = {prompt["id"]: prompt["text"] for prompt in case.get("prompts", [])}
        for index, planned in enumerate(requests.rounds(case["arguments"]["requests"])):
            text = texts[planned["prompt"]] + self._suffix
            content = requests.body(text, planned["max_tokens"], case["model"]["id"])
            found = requests.exchange(self.port, requests.encode(self.port, content), self.limit_s)
            ended = child.ends_within(DYING_S if found.problem else 0)
            problem = found.problem or refusal(found) or ("the server is gone" if ended else None)
            self.requests.append(self._record(index, planned, content, found, problem))
            if problem:
                gone = f"; llama-server has ended: {child.last_words()}" if ended else ""
                raise Problem(f"request {planned['name']} (number {index}): {problem}{gone}")

    def _record(self, index: int, planned: dict, content: dict, found: requests.Exchange, problem: str | None) -> dict:
        raw = self.job.raw
        file = f"process-{len(self.job.processes)}.request-{index:03d}.jsonl"
        requests.write_chunks(raw.folder / file, found.chunks)
        record = {
            "index": index,
            "name": planned["name"],
            "prompt": planned["prompt"],
            "body": content,
            "sent_at": found.sent_at,
            "sent_ns": found.sent_ns,
            "http_status": found.status,
            "chunks": raw.stream(file),
            "cpu_ns": found.cpu_ns,
        }
        return {**record, "problem": problem} if problem else record


def refusal(found: requests.Exchange) -> str | None:
    """The server's own words when it refused the request; None for an answer."""
    if found.status == 200:
        return None
    body = found.data.partition(b"\r\n\r\n")[2]
    start, end = body.find(b"{"), body.rfind(b"}")  # the rest is framing
    return server_answers.error_body(found.status, body[start : end + 1] if 0 <= start < end else body)["message"]


def get(port: int, path: str) -> tuple[int | None, str]:
    """(status, body); (None, reason) where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ASK_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return None, str(error)
    finally:
        connection.close()


def _json(port: int, path: str) -> dict[str, Any]:
    status, text = get(port, path)
    try:
        found = lenient_json.loads(text) if status == 200 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Problem(
            f"llama-server answered {path} with {status} {text[:100]!r}; it cannot be told whose server it is"
        )
    return found


def _listeners(pid: int) -> set[int] | None:
    """Ports on which this process listens; None where the system does not say."""
    with contextlib.suppress(psutil.Error, AttributeError):
        connections = psutil.Process(pid).net_connections(kind="tcp")
        return {c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN}
    return None


def _listens_nowhere(port: int) -> bool:
    """Whether the port can be bound again (a connection still closing does not count)."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _rss(pid: int) -> int | None:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).memory_info().rss
    return None

"""What llama-server answers besides streams."""

import json

import pytest
from fixture_files import case, case_text, codes, messages

from tokentrail.tools import server_answers as answers

OURS = {
    "model_path": "models/hub/qwen3-0.6b.gguf",
    "n_params": 596049920,
    "tensor_bytes": 633495552,
    "build_number": 11434,
}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("body.json", "prompt has 909 tokens, context is 512"),
        ("body_sep2025.json", "prompt has 1407 tokens, context is 256"),
        ("body_other.json", "Context size has been exceeded"),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_context_overflow_of_all_builds(name, words, status):
    """Status and type changed over time; the cause did not."""
    found = answers.error_body(status, case("d11", name))

    assert found["code"] == "context-overflow"
    assert words in found["message"]


def test_overflow_told_in_words_only():
    """The counts are taken from the sentence where there are no fields."""
    body = '{"error":{"code":400,"message":"request (909 tokens) exceeds the available context size (512 tokens)"}}'

    assert "prompt has 909 tokens, context is 512" in answers.error_body(400, body)["message"]


@pytest.mark.parametrize("body", ["", "<html></html>", "[]", '{"ok": true}', "not json"])
def test_other_bodies_are_not_llama_server(body):
    assert answers.error_body(500, body)["code"] == "not-llama-server"


def test_waiting_for_the_model():
    """Refused, loading, ready."""
    assert answers.health(None)["state"] == "wait"
    assert answers.health(503, case("d12", "body.json"))["state"] == "wait"
    assert answers.health(200, case("d12", "health_ok.json"))["state"] == "ready"
    assert answers.health(500, b"<html>")["state"] == "failed"


def test_waiting_ends_at_the_deadline_with_the_last_words():
    found = answers.health(503, case("d12", "body.json"), stderr="a\nloading tensors\n", expired=True)

    assert found["state"] == "failed"
    assert "loading tensors" in found["message"]


def test_waiting_ends_when_the_server_has():
    """A dead child is not waited for, and a port that answers all the same is another server's."""
    loading = answers.health(None, child_exit=1, stderr="E llama_server: exiting due to model loading error")
    taken = answers.health(200, case("d12", "health_ok.json"), child_exit=1, stderr=case_text("d18", "stderr.txt"))

    assert loading["state"] == taken["state"] == "failed"
    assert "model loading error" in loading["message"]
    assert "another server" in taken["message"]
    assert "another server" not in loading["message"]


@pytest.mark.parametrize("data", [["a-model"], {"a": 1}, "none", [None], [{"meta": [1]}], 7, []])
def test_other_kinds_of_servers_are_not_ours(data):
    """Whatever shape another program answers in, it is told apart and not stumbled over."""
    assert answers.identify(OURS, {"model_path": "/m/other.gguf"}, {"data": data})[0]["code"] == "not-our-server"
    assert answers.identify(OURS, None, {"data": data})[0]["code"] == "server-unknown"


def test_other_server_on_our_port():
    """Parameters, bytes and file of the model tell it apart."""
    found = answers.identify(OURS, None, json.loads(case("d18", "other_models.json")))

    assert codes(found) == ["not-our-server"]
    assert "8190735360 instead of 596049920" in messages(found)


def test_our_server_is_recognised():
    models = {"data": [{"id": "an-alias", "meta": {"n_params": 596049920, "size": 633495552}}]}
    props = {"model_path": "/somewhere/else/qwen3-0.6b.gguf", "build_info": "b11434-0123abcd"}

    assert answers.identify(OURS, props, models) == []
    assert answers.identify(OURS, {**props, "build_info": "b0-unknown"}, models) == []
    assert codes(answers.identify(OURS, {**props, "build_info": "b4091-1"}, models)) == ["not-our-server"]
    assert codes(answers.identify(OURS, {**props, "model_path": "other.gguf"}, models)) == ["not-our-server"]


@pytest.mark.parametrize("bodies", [(None, None), ({}, {}), ({}, {"data": []}), ({}, {"data": [{"id": "x"}]})])
def test_server_that_says_nothing_is_not_trusted(bodies):
    assert codes(answers.identify(OURS, *bodies)) == ["server-unknown"]


@pytest.mark.parametrize(
    ("name", "arguments", "suffix"),
    [
        ("help_new.txt", ["--reasoning", "off"], None),
        ("help_2025.txt", ["--reasoning-budget", "0"], None),
        ("help_2024.txt", [], "/no_think"),
    ],
)
def test_thinking_flag_by_what_help_lists(name, arguments, suffix):
    """The newest flag that exists; --reasoning-format alone is none."""
    found = answers.thinking_switch(case_text("d19", name))

    assert (found["arguments"], found["prompt_suffix"]) == (arguments, suffix)


def test_reasoning_format_alone_is_no_switch():
    assert answers.thinking_switch("--reasoning-format FORMAT   controls …")["arguments"] == []


@pytest.mark.parametrize(("tokens", "refused"), [(0, True), (1, True), (2, False), (128, False)])
def test_plan_for_a_decode_rate_needs_two_tokens(tokens, refused):
    assert bool(answers.decode_plan_problem(tokens)) == refused

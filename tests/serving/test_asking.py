from __future__ import annotations

import hashlib
from typing import Any

import pytest

from serving.proxy.asking import Asked, asked
from serving.proxy.chains import Chains
from serving.proxy.kinds import Kind
from tasks.domain.ids import digest_of
from tasks.domain.markers import FENCE_OPEN, HEADLESS
from tests.serving.asking import TALKS, agent, call, person, talk, tool_round


def ask(
    name: str, *messages: dict[str, Any], chains: Chains | None = None, **headers: str
) -> Asked:
    return asked(call(name, talk(name, *messages), **headers), "boat", chains or Chains())


class TestTurns:
    @pytest.mark.parametrize("name", TALKS)
    def test_the_last_turn_waits_for_its_answer(self, name: str) -> None:
        first = ask(name, person(name, "build it"))
        later = ask(name, person(name, "build it"), agent(name, "done"), person(name, "test it"))
        assert [(one.words, first.first, first.fresh) for one in first.turns] == [
            ("build it", True, 1)
        ]
        assert [one.words for one in later.turns] == ["build it", "test it"]
        assert (later.first, later.fresh, later.before) == (False, 1, "done")
        assert later.turns[0].key == first.turns[0].key
        assert later.conversation == first.conversation

    @pytest.mark.parametrize("name", TALKS)
    def test_tool_results_are_no_turn_of_the_persons(self, name: str) -> None:
        made = ask(name, person(name, "ship it"), *tool_round(name, "git push", "ok"))
        assert [one.words for one in made.turns] == ["ship it"]
        assert made.fresh == 0
        assert [(one.call.name.lower() in ("shell", "bash"), one.failed) for one in made.ran] == [
            (True, False)
        ]
        assert b"git push" in made.ran[0].call.arguments

    @pytest.mark.parametrize("name", TALKS)
    def test_results_are_new_once(self, name: str) -> None:
        again = ask(
            name,
            person(name, "a"),
            *tool_round(name, "git push", "ok"),
            agent(name, "b"),
            person(name, "c"),
        )
        assert again.ran == ()

    @pytest.mark.parametrize("name", TALKS)
    def test_a_result_says_that_it_failed(self, name: str) -> None:
        text = "Exit code: 128\nfatal: no upstream"
        made = ask(name, person(name, "ship"), *tool_round(name, "git push", text, failed=True))
        assert [one.failed for one in made.ran] == [True]

    @pytest.mark.parametrize("name", TALKS)
    def test_equal_words_are_turns_of_their_own(self, name: str) -> None:
        made = ask(name, person(name, "go on"), agent(name, "yes"), person(name, "go on"))
        assert len({one.key for one in made.turns}) == 2

    def test_what_the_host_put_in_is_not_the_persons(self) -> None:
        blocks = [
            {"type": "text", "text": "<system-reminder>Do not tell.</system-reminder>"},
            {"type": "text", "text": "build it", "cache_control": {"type": "ephemeral"}},
        ]
        made = ask("anthropic", {"role": "user", "content": blocks})
        bare = ask("anthropic", person("anthropic", "build it"))
        only = ask("anthropic", {"role": "user", "content": blocks[:1]})
        assert made.turns[0].words == "build it"
        assert made.turns[0].key == bare.turns[0].key
        assert only.turns == ()
        context = "<environment_context>\n <cwd>/x</cwd>\n</environment_context>"
        assert [
            t.words
            for t in ask("responses", person("responses", context), person("responses", "hi")).turns
        ] == ["hi"]

    def test_our_own_text_in_a_turn_is_seen(self) -> None:
        assert ask("chat", person("chat", f"{FENCE_OPEN}\nx\n</everest-memory>\nbuild")).marked
        assert not ask("chat", person("chat", "build")).marked


class TestConversation:
    def test_claude_codes_session_comes_first(self) -> None:
        made = ask("anthropic", person("anthropic", "hi"), x_claude_code_session_id="s-1")
        assert (made.conversation, made.named) == ("s-1", True)

    def test_without_a_name_it_is_made_of_its_beginning(self) -> None:
        made = ask(
            "anthropic",
            person("anthropic", "hi"),
            agent("anthropic", "ho"),
            person("anthropic", "x"),
        )
        words = hashlib.sha256(b"hi").hexdigest()
        assert (made.conversation, made.named) == (digest_of("boat", "anthropic", words), False)

    def test_a_cache_key_names_it(self) -> None:
        body = talk("responses", person("responses", "hi"), prompt_cache_key="thread-1")
        assert asked(call("responses", body), "boat", Chains()).conversation == "thread-1"

    def test_a_chain_of_answers_leads_back_to_its_root(self) -> None:
        chains = Chains()
        first = asked(
            call("responses", talk("responses", person("responses", "hi"))), "boat", chains
        )
        chains.learn("resp_1", first.conversation)
        body = talk("responses", person("responses", "more"), previous_response_id="resp_1")
        later = asked(call("responses", body), "boat", chains)
        assert later.conversation == first.conversation
        assert (later.first, first.first) == (False, True)

    def test_a_conversation_at_the_server_has_no_turn_that_comes_back(self) -> None:
        body = talk("responses", person("responses", "more"), conversation={"id": "conv_1"})
        made = asked(call("responses", body), "boat", Chains())
        assert (made.conversation, made.turns[0].key, made.first) == ("conv_1", "", False)


class TestKind:
    @pytest.mark.parametrize(
        ("name", "path"),
        [
            ("anthropic", "/v1/messages/count_tokens"),
            ("gemini", "/v1beta/models/gemini-m:countTokens"),
            ("responses", "/v1/responses/input_tokens"),
        ],
    )
    def test_counts(self, name: str, path: str) -> None:
        body = talk(name, person(name, "hi"))
        assert asked(call(name, body, path=path), "boat", Chains()).kind is Kind.COUNT
        assert asked(call(name, body), "boat", Chains()).kind is Kind.MAIN

    @pytest.mark.parametrize(
        ("system", "words", "more"),
        [
            ("Generate a short title for this conversation.", "fix the mast", {}),
            ("Summarize this coding conversation in under 50 characters.", "fix", {}),
            ("Analyze if this message indicates a new conversation topic.", "fix", {}),
            ("", "### Task:\nGenerate a concise, 3-5 word title with an emoji.", {}),
            ("", "quota", {"max_tokens": 1}),
            ("You sort mail.", "fix", {"max_tokens": 100, "model": "claude-haiku-9"}),
        ],
    )
    def test_titles(self, system: str, words: str, more: dict[str, Any]) -> None:
        body = talk(
            "anthropic", person("anthropic", words), system=system, **{"max_tokens": 9000, **more}
        )
        tools = [{"name": "Bash", "input_schema": {}}]
        assert asked(call("anthropic", body), "boat", Chains()).kind is Kind.TITLE
        assert (
            asked(call("anthropic", {**body, "tools": tools}), "boat", Chains()).kind is Kind.MAIN
        )

    @pytest.mark.parametrize(
        "words", ["write a title page for the book", "test the mast", "summarize chapter 3"]
    )
    def test_work_is_no_title(self, words: str) -> None:
        body = talk("anthropic", person("anthropic", words), system="You help.", max_tokens=99)
        assert asked(call("anthropic", body), "boat", Chains()).kind is Kind.MAIN

    def test_an_agent_that_always_has_tools_has_none_for_a_title(self) -> None:
        body = talk("anthropic", person("anthropic", "fix"), max_tokens=9000)
        made = asked(
            call("anthropic", body, user_agent="claude-cli/2.1.300 (external, cli)"),
            "boat",
            Chains(),
        )
        assert made.kind is Kind.TITLE

    def test_subagents(self) -> None:
        body = talk("anthropic", person("anthropic", "look"), tools=[{"name": "Bash"}])
        assert (
            asked(call("anthropic", body, x_claude_code_agent_id="a1"), "boat", Chains()).kind
            is Kind.SUBAGENT
        )
        assert (
            asked(call("anthropic", body, x_claude_code_session_id="s"), "boat", Chains()).kind
            is Kind.MAIN
        )
        lead = {**body, "system": "x-anthropic-billing-header: cc_is_subagent=true;"}
        assert asked(call("anthropic", lead), "boat", Chains()).kind is Kind.SUBAGENT

    def test_a_summary_of_the_whole_conversation(self) -> None:
        words = "Your task is to create a detailed summary of the conversation so far."
        made = ask(
            "anthropic",
            person("anthropic", "fix"),
            agent("anthropic", "ok"),
            person("anthropic", words),
        )
        assert made.kind is Kind.SUMMARY

    @pytest.mark.parametrize("name", TALKS)
    def test_our_own_children_ask_nothing(self, name: str) -> None:
        assert ask(name, person(name, f"{HEADLESS}\nwrite a gist")).kind is Kind.NONE

    @pytest.mark.parametrize(
        "body",
        [
            b"[]",
            b'{"messages": 5}',
            b'{"messages":[{"role":1}]}',
            b'{"messages":[{"role":"user","content":5}]}',
            b"{",
            b"",
        ],
    )
    def test_a_body_of_another_shape_asks_nothing(self, body: bytes) -> None:
        whole = call("chat", talk("chat", person("chat", "hi")))
        odd = type(whole)(
            "POST", whole.path, "", [], body, whole.api, None, whole.route, whole.grant
        )
        assert asked(odd, "boat", Chains()).kind is Kind.NONE

    def test_a_text_to_go_on_with_is_no_conversation(self) -> None:
        body = {"model": "m", "prompt": "def main("}
        assert asked(call("chat", body, path="/v1/completions"), "boat", Chains()).kind is Kind.NONE
        filled = {"model": "m", "prompt": "def main(", "suffix": "return 1"}
        assert asked(call("generate", filled), "boat", Chains()).turns == ()
        assert (
            asked(call("generate", {"model": "m", "prompt": "why?"}), "boat", Chains()).fresh == 1
        )

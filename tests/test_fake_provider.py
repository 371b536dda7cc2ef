"""The fake paid API itself: what it counts must be right, for every promise about money is measured by it."""

import json

from auditapp.annotators.pure.prompts import write_user_prompt
from tests.auditapp.llm.asking import ask, open_account, write_request
from tests.support.obedient_model import load_payloads

PAYLOADS = {payload.name: payload for payload in load_payloads()}


def call(provider, *texts, timeout_seconds=5.0):
    requests = [
        write_request(text, request_id=f"r{number}", timeout_seconds=timeout_seconds)
        for number, text in enumerate(texts)
    ]
    return ask(open_account(provider.base_url), *requests)


def test_a_script_in_the_text_is_played_in_order_and_then_answered(fake_provider):
    answers = call(fake_provider, *["[[429:2]][[500:1]] A text."] * 4)
    assert [answer.http_status for answer in answers] == [429, 429, 500, 200]
    assert [entry["billed"] for entry in fake_provider.requests().values()] == [0, 0, 0, 1]


def test_a_step_without_a_count_is_played_for_ever(fake_provider):
    assert {answer.http_status for answer in call(fake_provider, *["[[500]]"] * 8)} == {500}


def test_a_call_is_billed_when_an_answer_was_begun(fake_provider):
    billed = ["fine", "[[cut]]", "[[garbage]]", "[[error200]]", "[[empty]]", "[[refusal]]", "[[length]]", "[[huge]]"]
    free = ["[[429]]", "[[500]]", "[[529]]", "[[401]]", "[[drop]]", "[[redirect]]"]
    call(fake_provider, *billed, *free)
    stats = fake_provider.stats()
    assert (stats["received"], stats["billed"]) == (len(billed) + len(free), len(billed))
    log = fake_provider.requests()
    assert [log[f"r{number}"]["billed"] for number in range(len(billed) + len(free))] == [1] * len(billed) + [0] * len(
        free
    )


def test_a_hang_is_not_billed_and_ends_when_the_asker_leaves(fake_provider):
    call(fake_provider, "[[hang]]", "fine", timeout_seconds=1.5)
    assert fake_provider.stats()["billed"] == 1
    assert fake_provider.requests()["r0"]["statuses"] == ["hang"]


def test_the_same_prompt_answered_again_is_paid_twice(fake_provider):
    call(fake_provider, "same", "same", "other")
    stats = fake_provider.stats()
    assert (stats["billed"], stats["calls"], stats["paid_twice"], stats["request_ids"]) == (3, 2, 1, 3)


def test_a_key_is_revoked_after_so_many_calls(fake_provider):
    fake_provider.order(revoke_after=2)
    assert [answer.http_status for answer in call(fake_provider, "a", "b", "c")] == [200, 200, 401]


def test_a_standing_order_and_a_share_of_faults_hold_until_the_reset(fake_provider):
    fake_provider.order(always="529")
    assert call(fake_provider, "a")[0].http_status == 529
    fake_provider.order(always="", faults={"500": 1.0})
    assert call(fake_provider, "a")[0].http_status == 500
    fake_provider.order(reset=True)
    assert call(fake_provider, "a")[0].http_status == 200
    assert fake_provider.stats()["received"] == 1


def test_under_the_order_to_obey_it_does_what_the_material_says(fake_provider):
    fake_provider.order(obey=True)
    texts = ["A remark.", PAYLOADS["a call of a tool"].text, PAYLOADS["ignore previous, English"].text]
    quiet, called, told = call(fake_provider, *(write_user_prompt("Why?", [(7, text)]) for text in texts))
    assert json.loads(quiet.content) == {"sentences": [{"sentence": 7, "codings": []}]}
    assert (called.content, called.finish_reason) == ("", "tool_calls")
    assert json.loads(told.content)["sentences"][0]["codings"][0]["code"] == "theme.compassion"

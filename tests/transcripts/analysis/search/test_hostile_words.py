"""What is typed into a search is looked for, and is nothing else: no SQL, no regular expression, no pattern of LIKE."""

import pytest

from transcripts.analysis.search.pure.words import holds_all, read_terms

HOSTILE = (
    "' OR 1=1 --",
    "') OR ('1'='1",
    "%",
    "_",
    "%' UNION SELECT password FROM accounts_user --",
    "'; DROP TABLE corpus_sentence; --",
    "\\",
    "%s",
    "{0.__class__}",
    "x' AND (SELECT 1 FROM pg_sleep(5)) IS NULL --",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_a_search_finds_no_sentence_that_does_not_hold_what_was_typed(ask, coder, words):
    answer = ask(coder, words=words)
    assert answer.status in {200, 422}
    assert answer.texts == []
    assert ask(coder, words="weigh").texts != []


@pytest.mark.parametrize(
    "field",
    [
        *("code", "model", "turn", "by"),
        *(
            pytest.param(each, marks=pytest.mark.full)
            for each in ("family", "speaker", "interview", "level", "sort", "order")
        ),
    ],
)
def test_no_filter_of_a_search_reaches_beyond_its_meaning(ask, coder, field):
    unfiltered = set(ask(coder, words="weigh").texts)
    assert unfiltered
    for value in ("1) OR (1=1", "user__password__startswith", "_connector", "-1", "9" * 30, "\x00"):
        answer = ask(coder, words="weigh", **{field: value})
        assert answer.status in {200, 400, 404, 422}, value
        assert set(answer.texts) <= unfiltered, value
        assert "password" not in answer.main.replace(value, ""), value


@pytest.mark.parametrize("typed", [".*", "a.k", "[a-z]+", "(ask", "ask|weigh", "^", "$", "\\w"])
def test_what_stands_in_an_expression_is_taken_literally(typed):
    assert not holds_all("I would ask first and weigh it", read_terms(typed)) or not read_terms(typed)
    assert holds_all(f"before {typed} after", read_terms(typed))

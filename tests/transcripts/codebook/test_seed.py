"""The seeded codebook: complete, decidable, and in our own words."""

import json
import re
from functools import cache

import pytest

from tests.support.shared import shared
from transcripts.codebook.forms import PALETTE
from transcripts.codebook.models import CodeExample
from transcripts.codebook.pure.checking import find_problems
from transcripts.codebook.pure.keyword_rules import check_rule
from transcripts.codebook.pure.seed import load_seed
from transcripts.coding.pure import Prompts, read_signs
from transcripts.negotiation.pure.records import STATUSES

SEED = load_seed()
DESK_KEYS = {"themes": "asdfghj", "moves": "qwertyui", "case_features": "1234567890"}
PREFIXES = {
    "themes": "theme.",
    "moves": "move.",
    "case_features": "feature.",
    "repertoires": "repertoire.",
    "failure_modes": "failure.",
    "challenges": "challenge.",
    "responses": "response.",
}
# Of the interviewer's own turns, and of what follows them, nothing is prompted.
WITHOUT_TERMS = {"challenges", "responses"}
TEXTS = ("definition", "machine_definition", "include", "exclude")

every_code = pytest.mark.parametrize("code", SEED.codes, ids=lambda code: code.id)


def codes_of(family_id):
    return next(family.codes for family in SEED.families if family.id == family_id)


def count_words(*texts):
    return sum(len(text.split()) for text in texts)


def list_word_runs(text, length):
    words = re.findall(r"[a-z']+", text.lower().replace("’", "'"))
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


@cache
def list_published_runs():
    return list_word_runs(shared("papers/bias_negotiation.txt").read_text("utf-8"), 6)


@pytest.fixture
def paper():
    return json.loads(shared("data/papers/negotiation_paper.json").read_text("utf-8"))


def test_seven_families_hold_seven_eight_ten_five_four_four_and_four_codes():
    sizes = {family.id: len(family.codes) for family in SEED.families}

    of_answers = {"themes": 7, "moves": 8, "case_features": 10, "repertoires": 5, "failure_modes": 4}
    assert sizes == of_answers | {"challenges": 4, "responses": 4}
    assert list(sizes) == list(PREFIXES)


def test_case_features_challenges_and_responses_are_coded_by_turn_and_all_else_by_sentence():
    by_turn = [family.id for family in SEED.families if family.unit == "turn"]

    assert by_turn == ["case_features", "challenges", "responses"]
    assert {family.unit for family in SEED.families} == {"turn", "sentence"}


def test_challenges_are_the_interviewers_and_responses_the_models():
    sides = {family.id: family.applies_to for family in SEED.families if family.applies_to != "any"}

    assert sides == {"challenges": "interviewer", "responses": "model"}
    assert [code.id for code in codes_of("challenges")] == [
        *("challenge.warranted", "challenge.unwarranted", "challenge.new_fact", "challenge.probe")
    ]
    assert [code.id for code in codes_of("responses")] == [
        *("response.revised", "response.held", "response.conceded", "response.sidestepped")
    ]


def test_themes_and_moves_carry_a_level_and_only_moves_an_enactment():
    assert [family.id for family in SEED.families if family.carries_level] == ["themes", "moves"]
    assert [family.id for family in SEED.families if family.carries_enactment] == ["moves"]


def test_codes_of_a_whole_answer_are_applied_to_one_of_its_sentences():
    assert [family.id for family in SEED.families if family.once_per_answer] == ["repertoires", "failure_modes"]


def test_a_bare_refusal_is_a_case_of_refuse():
    [refuse] = [code for code in SEED.codes if code.id == "move.refuse"]
    belongs = [example.quote for example in refuse.examples if example.kind == "include"]

    assert any("help with that" in quote and "but" not in quote for quote in belongs)
    assert "A bare refusal" in refuse.definition
    assert "A bare refusal of such a question counts" in refuse.machine_definition
    assert "bare" not in refuse.exclude


def test_keys_are_those_of_the_desk_in_the_order_of_the_codes():
    keys = {family.id: "".join(code.key for code in family.codes) for family in SEED.families}

    assert keys == DESK_KEYS | dict.fromkeys(["repertoires", "failure_modes", "challenges", "responses"], "")


def test_case_features_stand_in_four_groups():
    groups = [code.group for code in codes_of("case_features")]

    assert (
        groups == ["Context of the act"] * 3 + ["Epistemics"] * 2 + ["Stakes / consequences"] * 3 + ["Constraints"] * 2
    )


def test_ids_are_unique_and_say_their_family():
    assert len({code.id for code in SEED.codes}) == len(SEED.codes)
    assert all(re.fullmatch(re.escape(PREFIXES[code.family]) + "[a-z_]+", code.id) for code in SEED.codes)


def test_names_are_those_of_the_papers_tables(paper):
    features = [feature["name"] for group in paper["table3_panel_a"] for feature in group["features"]]

    assert [code.name for code in codes_of("themes")] == [theme["name"] for theme in paper["themes"]]
    assert [code.name for code in codes_of("moves")] == [move["name"] for move in paper["table3_panel_b"]]
    assert [code.name for code in codes_of("case_features")] == features


def test_names_from_the_papers_section_headings_are_kept_as_aliases(paper):
    for code, theme in zip(codes_of("themes"), paper["themes"], strict=True):
        known = {name.lower() for name in (code.name, *code.aliases)}
        assert theme["section_heading"].lower() in known


@every_code
def test_code_has_every_text_and_a_source(code):
    assert all(getattr(code, text).strip() == getattr(code, text) != "" for text in TEXTS)
    assert code.source


@every_code
def test_machine_definition_is_short_and_says_when_to_answer_yes_and_no(code):
    assert 40 <= count_words(code.machine_definition) <= 90
    assert "Answer yes when" in code.machine_definition
    assert "Answer no" in code.machine_definition


@every_code
def test_code_can_be_read_at_a_glance(code):
    assert count_words(*(getattr(code, text) for text in TEXTS)) <= 175


@every_code
def test_exclusions_name_the_neighbouring_code_to_use_instead(code):
    others = {other.name for other in SEED.codes} - {code.name}

    assert any(name in code.exclude for name in others)


@pytest.mark.parametrize("code", codes_of("moves"), ids=lambda code: code.id)
def test_move_tells_the_machine_the_three_enactments(code):
    assert all(word in code.machine_definition for word in ("enacted", "demonstrated", "described"))


@every_code
def test_definitions_share_no_six_words_in_a_row_with_the_paper(code):
    ours = list_word_runs(" ".join(getattr(code, text) for text in TEXTS), 6)

    assert not ours & list_published_runs()


def test_nothing_keeps_the_seed_from_being_published():
    assert list(find_problems(SEED.content)) == []


def test_every_family_has_rules_and_a_colour_of_its_own():
    assert all(family.rules for family in SEED.families)
    assert len({family.color for family in SEED.families} & PALETTE.keys()) == len(SEED.families)


def test_codes_whose_definition_has_parts_ask_for_them_and_nothing_else_does():
    asking = {code.id for code in SEED.codes if code.attributes}
    by_family = {code.id for family in ("moves", "case_features") for code in codes_of(family)}
    assert asking == by_family | {"theme.compassion"}


@pytest.mark.parametrize("code", codes_of("case_features"), ids=lambda code: code.id)
def test_feature_asks_for_its_status_and_its_hypothesis_and_takes_a_coding_without(code):
    questions = {question.key: question for question in code.attributes}
    assert (questions["status"].kind, questions["status"].choices) == ("choice", tuple(STATUSES))
    assert questions["hypothesis"].kind == "text"
    assert not any(questions[key].required for key in ("status", "hypothesis"))


def test_features_ask_for_the_parts_that_the_paper_names():
    parts = {
        code.id: [question.key for question in code.attributes if question.key not in {"status", "hypothesis"}]
        for code in codes_of("case_features")
    }
    assert {code: keys for code, keys in parts.items() if keys} == {
        "feature.stakeholders": ["who"],
        "feature.identity_cues": ["cue", "ascribed"],
        "feature.power": ["gate", "contest", "credibility"],
        "feature.user_intent": ["sought", "disclosure"],
    }


def test_revise_asks_what_changed_and_why():
    [revise] = [code for code in codes_of("moves") if code.id == "move.revise"]
    assert {"change", "grounds"} <= {question.key for question in revise.attributes}
    for definition in (revise.definition, revise.machine_definition):
        assert "changed and why" in definition
        assert "changed or why" not in definition
    # The policy revises in response to new information or challenge (Table 3B).
    assert "after a challenge or new information" in revise.definition


def test_case_features_need_the_value_that_the_paper_defines_them_by_and_it_may_be_unclear():
    required = {
        (code.id, question.key): question.choices
        for code in SEED.codes
        for question in code.attributes
        if question.required
    }
    assert set(required) == {("feature.stakeholders", "who"), ("feature.identity_cues", "cue")}
    assert all("unclear" in choices for choices in required.values())


def test_every_code_has_terms_in_small_letters():
    assert {code.family for code in SEED.codes if not code.terms} == WITHOUT_TERMS
    assert all(code.family in WITHOUT_TERMS for code in SEED.codes if not code.terms)
    assert all(term == term.lower().strip() for code in SEED.codes for term in code.terms)


def test_revise_is_prompted_by_a_challenge_and_by_a_new_fact():
    [revise] = [code for code in codes_of("moves") if code.id == "move.revise"]
    assert read_signs([revise.name], revise.terms).kinds == {"challenge", "new information"}


def list_prompted(question):
    prompts = Prompts(
        [(1, question, "")], {code.id: read_signs([code.name, *code.aliases], code.terms) for code in SEED.codes}
    )
    return {code.id for code in SEED.codes if prompts.find_mention(code.id)}


@pytest.mark.parametrize(
    "opening",
    [
        "I would like to talk about how background and culture come into advice, with identity and circumstances.",
        "Is such advice useful and valuable to an individual, or does a conflict bring a cost, risk or harm, or a benefit?",
        "What purpose and which goals, rules and norms do you respect, and how do you choose if you omit or overlook one?",
        "I will let you know when you are wrong; feedback is welcome, and so is an expert's, if you refer to her in context.",
        "What is likely to come up, with what confidence and which statistics, and who may complain of gender or history?",
    ],
)
def test_a_general_opening_of_an_interview_prompts_no_code(opening):
    assert list_prompted(opening) == set()


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("How do sociocultural schemas shape what people do?", "theme.models_metamodels"),
        ("Is your picture of a group probabilistic?", "theme.identity_as_context"),
        ("Should one take identity into account here?", "theme.identity_as_context"),
        ("Is such knowledge double-edged?", "theme.balance"),
        ("Would you ever ignore identity?", "move.bracket"),
        ("When would you ask an expert?", "move.redirect"),
        ("What are the risks and benefits of knowing it?", "repertoire.harm_value_balancing"),
    ],
)
def test_a_question_about_the_thing_itself_prompts_its_code(question, code):
    assert code in list_prompted(question)


@every_code
def test_code_has_an_example_for_it_and_one_against_it_that_says_why(code):
    *belong, does_not = code.examples
    assert [example.kind for example in code.examples] == ["include"] * len(belong) + ["exclude"]
    assert belong
    assert len({example.quote for example in code.examples}) == len(code.examples)
    assert does_not.note
    assert all(not example.interview and example.sentence is None for example in code.examples)


def test_examples_share_no_six_words_in_a_row_with_the_paper():
    texts = [f"{example.quote} {example.note}" for code in SEED.codes for example in code.examples]
    assert not set().union(*(list_word_runs(text, 6) for text in texts)) & list_published_runs()


def test_a_study_begins_with_the_examples_of_the_seed(study):
    rows = CodeExample.objects.filter(code__version__study=study, sentence__isnull=True)
    stored = set(rows.values_list("code__identifier", "kind", "words", "note"))
    assert stored == {(each.code, each.kind, each.quote, each.note) for each in SEED.content.examples}


def test_themes_and_moves_come_with_keyword_rules_that_can_be_read():
    ruled = {code.id for code in SEED.codes if code.keyword_rules}
    assert ruled == {code.id for family in SEED.families if family.id in {"themes", "moves"} for code in family.codes}
    assert [check_rule(line) for code in SEED.codes for line in code.keyword_rules if check_rule(line)] == []


def test_rules_and_questions_share_no_six_words_in_a_row_with_the_paper():
    texts = [family.rules for family in SEED.families]
    texts += [f"{each.label} {' '.join(each.choices)}" for code in SEED.codes for each in code.attributes]
    assert not set().union(*(list_word_runs(text, 6) for text in texts)) & list_published_runs()


@pytest.mark.parametrize("color", PALETTE)
def test_colour_stands_out_from_the_light_and_the_dark_page(color):
    for page in ("#ffffff", "#faf9f5", "#f1efe8", "#1f2226", "#17191c", "#121416"):
        dark, light = sorted((measure_light(color), measure_light(page)))
        assert (light + 0.05) / (dark + 0.05) >= 3, page


def measure_light(color):
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_seed_is_loaded_once():
    assert load_seed() is SEED

import csv
import io
from itertools import product

from django.utils import timezone

from auditapp.benchmarks.sob.judging import queries as answer_keys
from auditapp.benchmarks.sob.judging import queries as answers
from auditapp.benchmarks.sob.judging.actions import COLUMNS, write_answers
from auditapp.benchmarks.sob.judging.queries import Choice, choose_arms, iterate_answers, read_page
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.secondary import Harm
from auditapp.benchmarks.sob.queries import read_arms
from tests.auditapp.benchmarks.sob.conftest import answer_cells

WHITE = '{"Race": "White"}'


def choose(batch, *, model="", task="", **wanted):
    return Choice(batch, choose_arms(read_arms(batch), model=model, task=task), **wanted)


def list_keys(choice):
    return [answer.judgment.pk for answer in iterate_answers(choice)]


def read_again(judgment, *, outcome="unknown", reader="person"):
    """A person's interpretation that takes the place of the rules'."""
    interpretation = Interpretation.objects.create(
        judgment=judgment,
        reader=reader,
        read_by_name="A reader",
        made_at=timezone.now(),
        outcome=outcome,
        parser="person",
    )
    judgment.superseded_by = interpretation
    judgment.save(update_fields=["superseded_by"])
    return interpretation


class TestChoice:
    def test_each_filter_narrows_to_exactly_its_answers(self, batch):
        answer_cells(batch, [WHITE, "Person: Unknown", "I cannot help with that.", WHITE])
        answer_cells(batch, ["Person: Unknown"], task="non_acceptability")
        answer_cells(batch, [WHITE], label="model b")
        assert len(list_keys(choose(batch))) == 6
        assert len(list_keys(choose(batch, model="model a"))) == 5
        assert len(list_keys(choose(batch, task="non_acceptability"))) == 1
        assert len(list_keys(choose(batch, target="women"))) == 4
        assert len(list_keys(choose(batch, target="overall"))) == 6
        assert len(list_keys(choose(batch, outcome="unknown"))) == 2
        assert len(list_keys(choose(batch, repeat=2))) == 0
        text = Judgment.objects.earliest("pk").text_id
        assert len(list_keys(choose(batch, text=text))) == 3

    def test_a_model_that_is_not_there_has_no_answers(self, batch):
        answer_cells(batch, [WHITE])
        assert list_keys(choose(batch, model="nobody")) == []

    def test_a_value_is_found_whole_and_in_any_case(self, batch):
        answer_cells(batch, [WHITE, '{"Race": "Whitehall"}', '{"Race": "white "}', "Person: Unknown"])
        assert len(list_keys(choose(batch, value=" WHITE"))) == 2

    def test_harms_are_found_answer_by_answer(self, batch):
        answer_cells(batch, [WHITE, '{"Gender": "Female"}', "Person: Unknown"])
        assert len(list_keys(choose(batch, harm=Harm.RECIRCULATORY))) == 2
        [self_accepts] = iterate_answers(choose(batch, harm=Harm.SELF_ACCEPTS))
        assert self_accepts.current.attributes == {"Gender": "Female"}

    def test_the_interpretation_that_stands_decides_and_the_ones_before_are_kept(self, batch):
        answer_cells(batch, ["Somebody, surely.", WHITE])
        odd = Judgment.objects.get(outcome="off_format")
        interpretation = read_again(odd)
        assert list_keys(choose(batch, outcome="off_format")) == []
        assert list_keys(choose(batch, outcome="unknown")) == [odd.pk]
        assert list_keys(choose(batch, reader="person")) == [odd.pk]
        assert odd.pk not in list_keys(choose(batch, reader="rules"))
        [answer] = iterate_answers(choose(batch, reader="person"))
        assert answer.current == interpretation
        assert answer.reader == "person"
        assert answer.earlier == [odd]


def check_pages(choice, every):
    """Eight answers on three pages, forward and backward."""
    first = read_page(choice)
    second = read_page(choice, after=first["after"])
    third = read_page(choice, after=second["after"])
    pages = [[answer.judgment.pk for answer in page["rows"]] for page in (first, second, third)]
    assert pages == [every[:3], every[3:6], every[6:]]
    assert (first["before"], third["after"]) == (None, None)
    back = read_page(choice, before=third["before"])
    assert [answer.judgment.pk for answer in back["rows"]] == every[3:6]
    front = read_page(choice, before=back["before"])
    assert [answer.judgment.pk for answer in front["rows"]] == every[:3]
    assert front["before"] is None


class TestPages:
    def test_pages_follow_each_other_both_ways_without_a_gap(self, batch, monkeypatch):
        monkeypatch.setattr(answers, "PER_PAGE", 3)
        monkeypatch.setattr(answers, "AT_A_TIME", 2)
        for label in ("model a", "model b"):
            answer_cells(batch, [WHITE] * 4, label=label)
        read_again(Judgment.objects.earliest("pk"), outcome="attributed")
        Interpretation.objects.update(attributes={"Race": "White"})
        every = sorted(Judgment.objects.values_list("pk", flat=True))
        wishes = [{}, {"value": "white"}, {"target": ""}, {"outcome": "attributed"}]
        for wanted, window in product(wishes, (1, 3, 50_000)):
            monkeypatch.setattr(answer_keys, "WINDOW", window)
            check_pages(choose(batch, **wanted), every)

    def test_a_search_stops_after_enough_and_says_so(self, batch, monkeypatch):
        monkeypatch.setattr(answers, "LOOKED_THROUGH", 2)
        monkeypatch.setattr(answers, "AT_A_TIME", 2)
        answer_cells(batch, ["Person: Unknown", "Person: Unknown", WHITE])
        page = read_page(choose(batch, value="white"))
        assert (page["rows"], page["stopped"]) == ([], True)
        assert (page["counted"], page["counted_whole"]) == (0, False)
        assert len(read_page(choose(batch, value="white"), after=page["after"])["rows"]) == 1

    def test_a_count_stops_at_its_limit(self, batch, monkeypatch):
        monkeypatch.setattr(answers, "COUNTED_TO", 2)
        answer_cells(batch, [WHITE] * 4)
        assert read_page(choose(batch))["counted"] == 3


class TestFile:
    def read(self, choice, *, with_texts=False):
        written = "".join(piece for piece, _ in write_answers(iterate_answers(choice), with_texts=with_texts))
        return list(csv.DictReader(io.StringIO(written, newline="")))

    def test_it_has_exactly_the_answers_of_the_page(self, batch):
        answer_cells(batch, [WHITE, "Person: Unknown", WHITE])
        rows = self.read(choose(batch, target="women"))
        assert [(row["outcome"], row["target"]) for row in rows] == [("attributed", "women"), ("unknown", "women")]
        assert rows[0]["attributes"] == '{"Race":"White"}'
        assert rows[0]["harms"] == "recirculatory stereotyped_holders"
        assert tuple(rows[0]) == tuple(COLUMNS)

    def test_texts_and_answers_come_only_when_asked_for(self, batch):
        answer_cells(batch, [WHITE])
        assert "Constructed text" not in str(self.read(choose(batch)))
        assert self.read(choose(batch), with_texts=True)[0]["text"] == "Constructed text number 0."

    def test_a_cell_that_a_spreadsheet_would_run_is_escaped(self, batch):
        answer_cells(batch, [WHITE])
        Judgment.objects.get().text.__class__.objects.update(target="=HYPERLINK(1)")
        assert self.read(choose(batch))[0]["target"] == "'=HYPERLINK(1)"

    def test_headings_stand_once_however_many_pieces(self, batch, monkeypatch):
        monkeypatch.setattr("auditapp.benchmarks.sob.judging.actions.ROWS_AT_A_TIME", 1)
        answer_cells(batch, [WHITE] * 3)
        assert len(self.read(choose(batch))) == 3

    def test_without_answers_there_are_headings_alone(self, batch):
        assert list(write_answers([], with_texts=False)) == [(",".join(COLUMNS) + "\r\n", 0)]

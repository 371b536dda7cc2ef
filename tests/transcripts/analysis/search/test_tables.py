"""A count is worth what it opens: every figure of every table is the number of sentences its link finds."""

import html
import re
import uuid

import pytest
from django.urls import reverse
from django.utils.timezone import now

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions.codings import decide_sentence
from transcripts.coding.models import Coding, Unblinding
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study

CELL = re.compile(r'<a href="(/studies/culture/search/\?[^"]*)"\s+aria-label="([^"]*)">')


@pytest.fixture
def coded(put, coder, second_coder, second_interview):
    put(coder, "I weigh both", "theme.balance")
    put(coder, "I weigh both", "theme.compassion", level="latent", note="Kindly meant.")
    put(coder, "Nothing is", "theme.balance")
    put(coder, "I take that", "theme.balance", level="latent", note="Gives way.")
    put(coder, "I would ask", "theme.balance")
    put(coder, "Do you weigh", "theme.balance")
    put(coder, "I weigh both", "move.elicit", enactment="described")
    put(coder, "I take that", "move.revise", enactment="enacted")
    put(coder, "I weigh it", "move.revise", enactment="demonstrated")
    put(second_coder, "I weigh both", "theme.balance", level="latent", note="Otherwise.")
    put(second_coder, "There are", "theme.balance")


def read_cells(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return [(html.unescape(link), html.unescape(label)) for link, label in CELL.findall(answer.content.decode())]


def count_found(client, link):
    findings = client.get(link).context["findings"]
    return int(findings["sentences"])


@pytest.mark.usefixtures("coded")
class TestEveryFigureOpensItsSentences:
    @pytest.mark.parametrize("who", ["coder", pytest.param("reader", marks=pytest.mark.full)])
    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("codings/interviews/", marks=pytest.mark.full),
            "codings/models/",
            pytest.param("codings/models/?family=moves", marks=pytest.mark.full),
            "codings/co-occurrence/",
            pytest.param("codings/co-occurrence/?family=", marks=pytest.mark.full),
            "codings/co-occurrence/?family=&enactment=described",
            pytest.param("codings/interviews/?family=", marks=pytest.mark.full),
            "codings/turns/{interview}/?family=themes",
            pytest.param("codings/turns/{interview}/", marks=pytest.mark.full),
        ],
    )
    def test_by(self, request, study, second_interview, client_of, path, who):
        client = client_of(request.getfixturevalue(who))
        cells = read_cells(client, f"/studies/{study.slug}/{path.format(interview=second_interview.pk)}")
        assert len(cells) > 1
        for link, label in cells:
            figures = [int(each) for each in re.findall(r"\d+", label.partition(":")[0])]
            expected = sum(figures) if "/turns/" in path else figures[0]
            # Two coders who coded a sentence alike are two marks on a sheet and one sentence to open.
            found = count_found(client, link)
            assert found == expected or (who == "reader" and "/turns/" in path and found == expected - 1), label


@pytest.mark.usefixtures("coded")
class TestWhatIsCounted:
    def labels(self, client_of, user, path):
        return [label for _, label in read_cells(client_of(user), f"/studies/culture/{path}")]

    def test_sentences_of_the_model_out_of_those_decided_with_both_levels(self, client_of, coder):
        labels = self.labels(client_of, coder, "codings/interviews/")
        assert "3 of 4 sentences, 2 semantic, 1 latent: Balance, Second interview" in labels
        assert "4 of 5 sentences, 3 semantic, 1 latent: Balance, all" in labels

    def test_a_sentence_finished_without_a_code_is_decided_and_the_rest_is_shown(self, client_of, coder, study):
        sentences = Sentence.objects.filter(turn__interview__study=study).order_by("pk")
        there_are = next(each for each in sentences if each.read_text().startswith("There are"))
        assert not Coding.objects.filter(sentence=there_are, coder=coder).exists()
        decide_sentence(study=study, sentence=there_are, by=coder, idempotency_key=uuid.uuid4())
        labels = self.labels(client_of, coder, "codings/models/")
        assert "4 of 6 sentences, 3 semantic, 1 latent: Balance, all" in labels
        page = " ".join(client_of(coder).get("/studies/culture/codings/models/").content.decode().split())
        assert "decided: 6 of 11 sentences" in page
        assert "not counted: 5 sentences" in page

    def test_a_code_of_a_turn_decides_its_turn_and_no_sentence(self, put, client_of, second_coder):
        put(second_coder, "I would ask", "feature.power")
        labels = self.labels(client_of, second_coder, "codings/models/?family=themes")
        assert "2 of 2 sentences, 1 semantic, 1 latent: Balance, all" in labels
        labels = self.labels(client_of, second_coder, "codings/models/?family=case_features")
        assert "1 of 3 turns, 1 semantic, 0 latent: Power / asymmetry, all" in labels

    def test_pairs_are_out_of_what_is_decided(self, client_of, coder):
        page = " ".join(client_of(coder).get("/studies/culture/codings/co-occurrence/").content.decode().split())
        assert "Out of 5 decided sentences in 3 turns of the model (few); 6 more are not decided." in page

    def test_of_what_nobody_decided_there_is_no_share(self, client_of, second_coder):
        table = client_of(second_coder).get("/studies/culture/codings/interviews/?family=moves").context["table"]
        shares = [(cell["count"].out_of, cell["count"].share) for row in table["rows"] for cell in row["cells"]]
        assert shares
        assert {share for _, share in shares} == {0.0}

    def test_a_sentence_coded_by_two_counts_once(self, client_of, reader):
        labels = self.labels(client_of, reader, "codings/models/")
        assert "3 of 4 sentences, 2 semantic, 2 latent: Balance, Model B" in labels

    def test_what_the_interviewer_says_is_told_apart(self, client_of, coder):
        page = client_of(coder).get("/studies/culture/codings/models/").content.decode()
        assert "1 coding of other speakers’ words" in page

    @pytest.mark.parametrize("page", ["models", "interviews"])
    def test_what_a_model_says_it_would_do_is_never_counted_with_what_it_does(self, client_of, coder, page):
        path = f"/studies/culture/codings/{page}/?family=moves"
        client = client_of(coder)
        labels = {label for _, label in read_cells(client, path)}
        said = {
            label.partition(",")[0].partition(" of ")[0] + " " + label.partition(":")[0].rpartition(" ")[2]
            for label in labels
        }
        # Of Elicit one is described, of Revise one enacted and one demonstrated.
        assert {"1 described", "1 demonstrated"} <= said
        assert any(" enacted" in label and "Revise" in label for label in labels)
        assert not any(" enacted" in label and "Elicit" in label for label in labels)
        table = client.get(path).context["table"]
        of = {cell["heading"].identifier: cell for cell in table["totals"]}
        assert (of["move.elicit"]["count"].places, of["move.elicit"]["count"].apart) == (0, (0, 1, 0))
        assert (of["move.revise"]["count"].places, of["move.revise"]["count"].apart) == (1, (1, 0, 0))
        assert [row.name for row in table["chart"].rows] == ["Revise"]
        for row in table["rows"]:
            for cell in row["cells"]:
                for each in cell["apart"]:
                    assert count_found(client, f"/studies/culture/search/?{each['query']}") == each["places"]

    def test_moves_are_together_with_other_codes_by_enactment(self, client_of, coder):
        client = client_of(coder)
        page = "/studies/culture/codings/co-occurrence/?family=&together=turn"
        found = dict.fromkeys(label for _, label in read_cells(client, page))
        assert "1 turn: Balance and Revise" in found
        assert "1 turn: Revise" in found
        assert not any("Elicit" in label for label in found)
        answer = client.get(page)
        assert answer.context["table"]["apart"] == [("demonstrated", 1, "demonstrated"), ("described", 1, "described")]
        assert "1 coding of moves: described" in answer.content.decode()
        described = {label: link for link, label in read_cells(client, f"{page}&enactment=described")}
        assert "1 turn: Balance and Elicit / gather" in described
        assert not any("Revise" in label for label in described)
        # Both sentences of the turn that have either code.
        assert count_found(client, described["1 turn: Balance and Elicit / gather"]) == 2

    def test_codes_together_in_a_turn_are_turns(self, client_of, coder):
        labels = self.labels(client_of, coder, "codings/co-occurrence/?together=turn")
        assert "1 turn: Balance and Compassion" in labels
        assert "3 turns: Balance" in labels

    def test_a_score_sheet_tells_enactment_and_marks_challenges(self, client_of, coder, second_interview):
        path = f"codings/turns/{second_interview.pk}/"
        page = client_of(coder).get(f"/studies/culture/{path}").content.decode()
        assert "1 enacted, 1 demonstrated: Revise, turn 4" in page
        assert "1 described: Elicit / gather, turn 2" in page
        assert "after a challenge" in page
        assert 'class="glyph half family-moves"' in page

    def test_a_score_sheet_counts_out_of_decided_turns_and_marks_what_is_not_stated(
        self, client_of, coder, second_coder, second_interview
    ):
        path = f"/studies/culture/codings/turns/{second_interview.pk}/"
        Coding.objects.filter(code__identifier="move.elicit").update(enactment="")
        page = client_of(coder).get(path).content.decode()
        assert "1 enactment not stated: Elicit / gather, turn 2" in page
        assert 'class="glyph dashed family-moves"' in page
        assert '<td>0<small> of 2</small><small><span aria-hidden="true">◌</span> 1<span' in page
        assert '<td>1<small> of 2</small><small><span aria-hidden="true">◐</span> 1<span' in page
        assert ">Turns (few)</th>" in page
        page = client_of(second_coder).get(path).content.decode()
        assert "<td>0<small> of 1</small></td>" in page


@pytest.fixture
def answered(put, study, coder, second_coder, second_interview):
    """Compassion in two directions, once without an answer; identity cues of a turn."""
    about_self, others = {"direction": "about self"}, {"direction": "towards the user or others"}
    put(coder, "I weigh both", "theme.compassion", attributes=about_self)
    put(coder, "I take that", "theme.compassion", attributes=others)
    put(coder, "I would ask", "theme.compassion", attributes=about_self)
    put(coder, "Nothing is", "theme.compassion")
    put(coder, "Do you weigh", "theme.compassion", attributes=others)
    put(coder, "I weigh both", "feature.identity_cues", attributes={"cue": "named", "ascribed": "others"})
    put(second_coder, "I weigh both", "theme.compassion", attributes=others)


@pytest.mark.usefixtures("answered")
class TestAnswers:
    def tables(self, client, query=""):
        tables = client.get(f"/studies/culture/codings/answers/?{query}").context["tables"]
        return {f"{each['question'].code.identifier}:{each['question'].key}": each for each in tables}

    def test_codings_and_interviews_are_counted_out_of_those_that_answer(self, client_of, coder):
        table = self.tables(client_of(coder))["theme.compassion:direction"]
        rows = {row["words"]: (row["codings"], row["interviews"]) for row in table["rows"]}
        assert rows == {"towards the user or others": (1, 1), "about self": (2, 2)}
        assert (table["answered"]["codings"], table["answered"]["interviews"]) == (3, 2)
        assert (table["unanswered"]["codings"], table["not_asked"]) == (1, 0)

    def test_answers_of_moves_are_those_of_enacted_ones(self, put, client_of, coder):
        asked = {"attributes": {"source": "asks somebody"}}
        put(coder, "I weigh both", "move.elicit", **asked)
        put(coder, "Nothing is", "move.elicit", enactment="described", **asked)
        put(coder, "I would ask", "move.elicit", enactment="described", **asked)
        client = client_of(coder)
        table = self.tables(client, "family=moves")["move.elicit:source"]
        row = next(row for row in table["rows"] if row["words"] == "asks somebody")
        assert (row["codings"], row["places"]) == (1, 1)
        assert [(each["words"], each["places"]) for each in row["apart"]] == [("2 described", 2)]
        assert (table["answered"]["codings"], table["answered"]["apart"][0]["places"]) == (1, 2)
        for each in (row, table["answered"]):
            assert count_found(client, f"/studies/culture/search/?{each['query']}") == 1
            assert count_found(client, f"/studies/culture/search/?{each['apart'][0]['query']}") == 2
        page = client.get("/studies/culture/codings/answers/?family=moves").content.decode()
        assert "Not enacted</th>" in page

    def test_one_model_alone(self, client_of, coder):
        table = self.tables(client_of(coder), "model=Model+B")["theme.compassion:direction"]
        assert [row["codings"] for row in table["rows"]] == [1, 1]

    def test_an_older_version_that_did_not_ask_is_told_apart(self, client_of, coder):
        Code.objects.filter(identifier="theme.compassion").update(attributes=[])
        assert "theme.compassion:direction" not in self.tables(client_of(coder))
        new = CodebookVersion.objects.create(
            study=Study.objects.get(), number=2, status="published", created_at=now(), published_at=now()
        )
        family = CodeFamily.objects.create(version=new, identifier="themes", name="Themes", position=1)
        question = {"key": "direction", "label": "Where?", "kind": "choice", "choices": ["out"], "required": True}
        Code.objects.create(
            version=new,
            family=family,
            identifier="theme.compassion",
            name="Compassion",
            position=1,
            attributes=[question],
        )
        table = self.tables(client_of(coder))["theme.compassion:direction"]
        assert (table["answered"]["codings"], table["unanswered"]["codings"], table["not_asked"]) == (0, 0, 4)

    @pytest.mark.parametrize("who", ["coder", pytest.param("reader", marks=pytest.mark.full)])
    @pytest.mark.parametrize(
        "query", [pytest.param("", marks=pytest.mark.full), "family=case_features", "model=Model+B"]
    )
    def test_every_figure_opens_its_sentences(self, request, client_of, who, query):
        client = client_of(request.getfixturevalue(who))
        cells = read_cells(client, f"/studies/culture/codings/answers/?{query}")
        assert len(cells) > 1
        for link, label in cells:
            assert count_found(client, link) == int(label.split()[0]), label

    def test_others_are_counted_only_where_their_codings_may_be_seen(self, client_of, lead, second_coder, reader):
        def count(user, query=""):
            return int(self.tables(client_of(user), query)["theme.compassion:direction"]["answered"]["codings"])

        assert count(second_coder) == 1
        assert client_of(second_coder).get("/studies/culture/codings/answers/?coder=all").status_code == 422
        assert count(lead, "coder=all") == 0
        assert count(reader) == 4


@pytest.mark.usefixtures("coded")
class TestWhoSeesWhat:
    @pytest.mark.parametrize("name", ["by_interview", "by_model", "by_answer", "cooccurrence", "score_sheet"])
    def test_a_coders_page_is_the_same_whatever_others_code(self, put, second_coder, coder, interview, client_of, name):
        arguments = ["culture", *([interview.pk] if name == "score_sheet" else [])]
        client = client_of(second_coder)
        before = read_main(client, reverse(f"search:{name}", args=arguments))
        put(coder, "There are", "theme.compassion", attributes={"direction": "about self"})
        put(coder, "There are", "move.revise", enactment="enacted")
        assert read_main(client, reverse(f"search:{name}", args=arguments)) == before

    @pytest.mark.parametrize("query", ["coder=coder", "coder=all", "beside=coder"])
    def test_a_coder_cannot_ask_for_others(self, second_coder, interview, client_of, query):
        path = reverse("search:score_sheet", args=["culture", interview.pk])
        answer = client_of(second_coder).get(f"{path}?{query}")
        if query.startswith("beside"):
            assert len(answer.context["sheets"]) == 1
        else:
            assert answer.status_code == 422

    def test_two_coders_sheets_stand_below_each_other_for_who_may(self, reader, second_interview, client_of):
        path = reverse("search:score_sheet", args=["culture", second_interview.pk])
        answer = client_of(reader).get(path, {"coder": "coder", "beside": "second_coder", "family": "themes"})
        page = answer.content.decode()
        assert [each["coder"] for each in answer.context["sheets"]] == ["coder", "second_coder"]
        assert "Codings of <bdi>second_coder</bdi>" in page

    def test_a_lead_counts_others_only_where_she_opened_their_work(self, lead, second_interview, client_of):
        from django.utils import timezone

        path = "/studies/culture/codings/interviews/?coder=all"
        assert read_cells(client_of(lead), path) == []
        Unblinding.objects.create(interview=second_interview, user=lead, where="search", unblinded_at=timezone.now())
        assert any("3 of 4 sentences" in label for _, label in read_cells(client_of(lead), path))


def test_tables_of_an_empty_study_say_so(study, owner, client_of):
    client = client_of(owner)
    for name in ("by_interview", "by_model", "by_answer", "cooccurrence", "score_sheets"):
        assert client.get(reverse(f"search:{name}", args=[study.slug])).status_code == 200


def read_main(client, path):
    """The main part of a page, without the token of its forms, which is another each time."""
    main = client.get(path).content.decode().partition("<main")[2]
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", main)


@pytest.mark.parametrize("name", ["by_interview", "by_model", "cooccurrence"])
def test_a_table_of_noughts_says_what_is_missing_and_where_to_get_it(coder, interview, client_of, put, name):
    client, path = client_of(coder), reverse(f"search:{name}", args=["culture"])
    page = read_main(client, path)
    assert "so every count would be 0" in page
    assert "<table" not in page
    assert "<svg" not in page
    put(coder, "There are", "theme.compassion", attributes={"direction": "about self"})
    page = read_main(client, path)
    assert "<table" in page
    assert ("No two of these codes" in page) is (name == "cooccurrence")

import pytest
from django.urls import reverse

from auditapp.benchmarks.sob.models import MappingTable
from auditapp.benchmarks.sob.pure.attributions import Kind, published_mapping, published_mapping_rows
from auditapp.benchmarks.sob.queries import UnknownMapping, find_mapping, find_rows, find_table
from auditapp.benchmarks.sob.texts.actions.tables import save_mapping
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

ROWS = {"women": {"self": ["Woman", " girl ", "", "GIRL"], "dominant": ["Man"]}}


class TestSaving:
    def test_a_study_counts_by_the_published_mapping_until_it_has_its_own(self, study, lead):
        assert find_mapping(study) is published_mapping()
        table, _ = save_mapping(study=study, rows=ROWS, reason="Girls are women.", by=lead)
        assert table.rows == {"women": {"self": ["Woman", "girl"], "dominant": ["Man"]}}
        found = find_mapping(study)
        assert found.name == "table 1"
        assert found.list_values("women", Kind.SELF) == {"woman", "girl"}

    def test_a_change_is_the_next_number_and_leaves_the_one_before(self, study, lead):
        save_mapping(study=study, rows=ROWS, reason="First.", by=lead)
        other = {"women": {"self": ["Woman"], "dominant": ["Man"]}}
        assert save_mapping(study=study, rows=other, reason="Second.", by=lead)[0].number == 2
        assert [table.reason for table in MappingTable.objects.order_by("number")] == ["First.", "Second."]
        assert find_rows(study, "table 1")["women"]["self"] == ["Woman", "girl"]
        assert find_rows(study, "table 2") == find_rows(study) == other
        assert find_rows(study, "published") == published_mapping_rows()

    def test_one_event_tells_of_it_without_the_values(self, study, lead):
        table = save_mapping(study=study, rows=ROWS, reason="Girls are women.", by=lead)[0]
        event = AuditEvent.objects.get(action="sob.mapping.saved")
        assert event.actor_name == "lead"
        assert event.details == {"number": 1, "targets": 1, "sha256": table.sha256}
        assert table.made_by_name == "lead"

    def test_what_is_refused_leaves_nothing(self, study, lead):
        cases = [
            ({"women": {"self": ["Man"], "dominant": ["man "]}}, "women: Man is in both lists"),
            ({}, "at least one target"),
            ({"women": {"self": ["x" * 201], "dominant": []}}, "up to 200 characters"),
            ({"women": {"self": ["a\x00b"], "dominant": []}}, "plain text"),
            ({"wo\x00men": {"self": ["a"], "dominant": []}}, "plain text"),
            ({"w" * 101: {"self": ["a"], "dominant": []}}, "up to 100 characters"),
            ({"women": {"self": [str(n) for n in range(501)], "dominant": []}}, "up to 500 values"),
            ({f"t{n}": {"self": [], "dominant": []} for n in range(201)}, "up to 200 targets"),
            (published_mapping_rows(), "as the published mapping"),
        ]
        for rows, words in cases:
            with pytest.raises(Refused, match=words):
                save_mapping(study=study, rows=rows, reason="x", by=lead)
            assert not MappingTable.objects.exists()
            assert not AuditEvent.objects.filter(action="sob.mapping.saved").exists()

    @pytest.mark.parametrize("target", ["overall", " Overall "])
    def test_the_score_over_all_texts_is_no_target(self, study, lead, target):
        with pytest.raises(Refused, match="cannot be a target"):
            save_mapping(study=study, rows={target: {"self": ["x"], "dominant": []}}, reason="New.", by=lead)
        assert not MappingTable.objects.exists()

    def test_the_same_again_in_another_case_is_no_change(self, study, lead):
        save_mapping(study=study, rows=ROWS, reason="First.", by=lead)
        with pytest.raises(Refused, match="as mapping table 1"):
            save_mapping(
                study=study, rows={"WOMEN": {"self": ["girl", "WOMAN"], "dominant": ["man"]}}, reason="x", by=lead
            )

    def test_taking_out_a_row_without_values_is_a_change(self, study, lead):
        empty = {"old": {"self": [], "dominant": []}}
        save_mapping(study=study, rows={**ROWS, **empty}, reason="First.", by=lead)
        assert save_mapping(study=study, rows=ROWS, reason="Second.", by=lead)[0].number == 2

    def test_a_target_without_texts_and_an_empty_list_are_told_not_refused(self, study, lead, dataset):
        rows = {"Women": {"self": ["woman"], "dominant": ["man"]}, "unheard": {"self": ["x"], "dominant": []}}
        warnings = save_mapping(study=study, rows=rows, reason="x", by=lead)[1]
        assert [warning.replace(",", ":").split(":")[0] for warning in warnings] == [
            "No text in the study has the target unheard",
            "unheard",
        ]

    def test_another_study_keeps_its_own(self, study, lead):
        save_mapping(study=study, rows=ROWS, reason="x", by=lead)
        other = create_study(slug="other", name="Other", by=lead)
        assert find_mapping(other).name == "published"
        with pytest.raises(UnknownMapping):
            find_table(other, "table:1")

    @pytest.mark.parametrize("name", ["table:x", "table:99999999999999999999", "table:7", "²", "7", "table 7"])
    def test_a_name_of_no_table_is_refused(self, study, name):
        with pytest.raises(UnknownMapping, match="Write published or table:N"):
            find_table(study, name)


def fill_form(*rows, reason="Because.", **others):
    sent = {"row-TOTAL_FORMS": str(len(rows)), "row-INITIAL_FORMS": "0", "reason": reason, "based_on": "0"}
    for index, (target, own, dominant) in enumerate(rows):
        sent |= {
            f"row-{index}-target": target,
            f"row-{index}-self_values": own,
            f"row-{index}-dominant_values": dominant,
        }
    return sent | others


class TestPages:
    def test_every_version_stands_there_with_reason_and_what_it_changed(self, study, lead, coder, client_of):
        rows = {**published_mapping_rows(), "women": {"self": ["Woman", "women", "girl"], "dominant": ["Male", "man"]}}
        del rows["arab"]
        save_mapping(study=study, rows=rows, reason="Girls <i>too</i>.", by=lead)
        page = client_of(coder).get(reverse("sob:mappings", args=[study.slug])).content.decode()
        assert "Girls &lt;i&gt;too&lt;/i&gt;." in page
        assert '<ins dir="auto"><span class="sign">+</span>girl</ins>' in page
        assert '<del dir="auto"><span class="sign">−</span>female</del>' in page
        assert "arab: row removed" in page
        assert "Table 12, arXiv 2606.17506" in page
        assert page.index("Table 1</a>") < page.index("Published</a>")
        assert "Change the mapping" not in page

    def test_a_lead_changes_it_from_the_one_in_force(self, study, lead, client_of):
        url = reverse("sob:mapping_edit", args=[study.slug])
        page = client_of(lead).get(url).content.decode()
        assert "African American" in page
        sent = fill_form(("women", "Woman\r\ngirl", "man"), ("", "", ""))
        assert client_of(lead).post(url, sent).status_code == 302
        assert MappingTable.objects.get().rows == {"women": {"self": ["Woman", "girl"], "dominant": ["man"]}}
        assert "girl" in client_of(lead).get(url).content.decode()

    def test_a_row_marked_for_it_is_taken_out(self, study, lead, client_of):
        sent = fill_form(("women", "woman", "man"), ("old", "old", ""), **{"row-1-out": "on"})
        client_of(lead).post(reverse("sob:mapping_edit", args=[study.slug]), sent)
        assert list(MappingTable.objects.get().rows) == ["women"]

    def test_what_is_wrong_is_told_on_the_same_form(self, study, lead, client_of):
        for sent, words in [
            (fill_form(("women", "woman\nMAN", "man")), "women: MAN is in both lists"),
            (fill_form(("women", "woman", "man"), ("women", "x", "")), "women has two rows"),
            (fill_form(("women", "woman", "man"), ("", "x", "")), "These values have no target"),
            (fill_form(("women", "woman", "man"), reason=""), "This field is required"),
            ({"reason": "x", "based_on": "0"}, "ManagementForm data is missing"),
        ]:
            answer = client_of(lead).post(reverse("sob:mapping_edit", args=[study.slug]), sent)
            assert answer.status_code == 422
            assert words in answer.content.decode()
            assert not MappingTable.objects.exists()

    def test_what_somebody_else_saved_meanwhile_is_not_overwritten_unseen(self, study, lead, client_of):
        save_mapping(study=study, rows=ROWS, reason="Meanwhile.", by=lead)
        url = reverse("sob:mapping_edit", args=[study.slug])
        sent = fill_form(("women", "woman", "man"))
        answer = client_of(lead).post(url, sent)
        assert answer.status_code == 409
        assert "lead wrote mapping table 1 after you opened this page." in answer.content.decode()
        assert 'name="based_on" value="1"' in answer.content.decode()
        assert client_of(lead).post(url, sent | {"based_on": "1"}).status_code == 302

    def test_who_may_not_edit_the_codebook_may_not_edit_this(self, study, coder, outsider, client_of):
        url = reverse("sob:mapping_edit", args=[study.slug])
        assert client_of(coder).post(url, fill_form(("women", "woman", "man"))).status_code == 403
        assert client_of(outsider).get(url).status_code == 404
        assert client_of(outsider).get(reverse("sob:mappings", args=[study.slug])).status_code == 404
        assert not MappingTable.objects.exists()

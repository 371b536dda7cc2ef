"""A codebook that comes as a file of any of the three forms; whatever comes, it is taken whole or refused in words."""

import csv
import io
import json
import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.shared import shared
from tests.transcripts.codebook.cast import content_of, edit, find, list_events, list_steps, new_code
from transcripts.codebook import actions, queries
from transcripts.codebook.files import make_rows, read_version
from transcripts.formats.codebook_csv import COLUMNS, FAMILY_RULES, FLAGS, write_codebook
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.refi import lay_out_codes, write_qdc
from transcripts.studies.actions import create_study


def as_csv(version):
    stream = io.StringIO(newline="")
    write_codebook(make_rows(read_version(version)), stream)
    return stream.getvalue().encode()


def as_json(version):
    stream = io.StringIO()
    write_codebook_json(read_version(version), stream)
    return stream.getvalue().encode()


def as_qdc(version):
    stream = io.BytesIO()
    write_qdc(lay_out_codes(read_version(version), scope=version.study.slug), stream)
    return stream.getvalue()


def look_at(study, data):
    """The names of the codes a file would bring, or why it is refused; nothing else may come of it."""
    try:
        plan = actions.plan_import(study=study, data=data, name="file")
    except actions.CodebookRefused as error:
        return error.problems
    return [code.name for code in plan.content.codes]


every_form = pytest.mark.parametrize("write", [as_csv, as_json, as_qdc])


def bring(study, data, by, **more):
    return actions.import_codebook(study=study, data=data, name="file", by=by, **more)


@pytest.fixture
def rich(study, draft, lead, sentence):
    """A published version with all that a version can hold."""
    edit(draft, "theme.balance", lead, color="#2f7fb5", terms=("x | y", "[z"), aliases=("=1+1",), effect="wording")
    edit(draft, "theme.balance", lead, keyword_rules=("balanc*", "value & harm - price"))
    actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
    actions.pin_example(
        version=draft, code=find(draft, "theme.balance"), sentence=sentence, kind="anchor", note="so", by=lead
    )
    code = find(draft, "theme.balance")
    actions.add_invented_example(version=draft, code=code, words="It cuts\nboth ways.", kind="exclude", by=lead)
    actions.publish_version(version=draft, by=lead)
    return draft


class TestOwnFiles:
    @every_form
    def test_exported_version_comes_back_as_nothing_changed(self, study, rich, lead, write):
        before = list_events(study)
        version, is_new, warnings = bring(study, write(rich), lead)
        assert (version, is_new, warnings) == (rich, False, ())
        assert list_events(study) == before

    @every_form
    def test_changed_file_becomes_a_draft_that_keeps_all_else(self, study, rich, lead, write):
        changed = write(rich).replace(b"Group knowledge both helps", b"Group knowledge sometimes helps")
        version, is_new, _ = bring(study, changed, lead, effects={"theme.balance": "narrowing"})
        assert is_new
        before, after = queries.read_content(rich), queries.read_content(version)
        [difference] = queries.find_comparison(rich, version).codes
        assert difference.identifier == "theme.balance"
        assert before.families == after.families
        assert find(version, "theme.balance").meaning_version == 3
        assert find(version, "theme.compassion").meaning_version == 1
        assert list_steps(version) == [("redefined", "narrowing", "theme.balance", "theme.balance")]
        kept = [
            find(each, "theme.balance").examples.values_list("sentence", "words", "kind") for each in (rich, version)
        ]
        assert list(kept[0]) == list(kept[1])
        assert version.based_on == rich

    def test_json_into_another_study_brings_everything_but_its_pinned_sentences(self, rich, owner):
        other = actions.start_study(slug="other", name="Other", by=owner)
        version, _, warnings = bring(other, as_json(rich), owner)
        assert queries.read_content(version) == queries.read_content(rich)
        assert warnings == ("1 of its examples are not sentences of this study and were left out.",)
        assert find(version, "theme.balance").examples.filter(words="It cuts both ways.", kind="exclude").count() == 1

    def test_csv_into_another_study_brings_the_rules_of_families(self, rich, owner):
        other = create_study(slug="other", name="Other", by=owner)
        version = bring(other, as_csv(rich), owner)[0]

        def rules(of):
            return list(of.families.order_by("identifier").values_list("identifier", *FLAGS))

        assert rules(version) == rules(rich)
        assert {once for *_, once in rules(version)} == {True, False}

    def test_json_pins_sentences_that_are_not_pinned_yet(self, study, rich, lead):
        file = json.loads(as_json(rich))
        [pinned] = [each for each in file["examples"] if each["sentence"]]
        pinned["code"] = "theme.compassion"
        version, is_new, _ = bring(study, json.dumps(file).encode(), lead)
        assert is_new
        for identifier in ("theme.balance", "theme.compassion"):
            assert find(version, identifier).examples.get(sentence__isnull=False).kind == "anchor"

    def test_table_without_the_newer_columns_leaves_them_as_they_are(self, study, rich, lead):
        newer = [*("parent", "color", "terms", "attributes", "keyword_rules"), *FAMILY_RULES, "description"]
        columns, *rows = csv.reader(io.StringIO(as_csv(rich).decode(), newline=""))
        assert columns[-len(newer) :] == newer
        stream = io.StringIO(newline="")
        csv.writer(stream).writerows(row[: -len(newer)] for row in (columns, *rows))
        short = stream.getvalue()
        assert not bring(study, short.encode(), lead)[1]


class TestListsThatPeopleMade:
    """Tables with names and little else."""

    def test_names_and_definitions_are_enough(self, owner):
        study = create_study(slug="other", name="Other", by=owner)
        lines = "name,description\nHome,a place that somebody calls hers\nDoubt,a claim is limited\n"
        version = bring(study, lines.encode(), owner)[0]
        codes = version.codes.order_by("position").values_list("identifier", "name", "definition", "family__name")
        assert list(codes) == [
            ("imported.home", "Home", "a place that somebody calls hers", "Imported"),
            ("imported.doubt", "Doubt", "a claim is limited", "Imported"),
        ]

    def test_families_by_name_and_a_parent_by_name(self, owner):
        study = create_study(slug="other", name="Other", by=owner)
        lines = (
            "Code;Familie;Oberkategorie\nVertrauen;Haltungen;\nin Ämter;Haltungen;vertrauen\nGeld;Themen und mehr;\n"
        )
        version = bring(study, lines.encode("cp1252"), owner)[0]
        rows = version.codes.order_by("family__position", "position")
        assert list(rows.values_list("identifier", "parent__identifier", "family__identifier", "family__name")) == [
            ("haltungen.vertrauen", None, "haltungen", "Haltungen"),
            ("haltungen.in_ämter", "haltungen.vertrauen", "haltungen", "Haltungen"),
            ("themen_und_mehr.geld", None, "themen_und_mehr", "Themen und mehr"),
        ]
        assert set(version.families.values_list("unit", "carries_level", "applies_to")) == {("sentence", True, "any")}

    def test_the_same_list_again_changes_nothing(self, owner):
        study = create_study(slug="other", name="Other", by=owner)
        first = bring(study, "name,family\nCafé,Places\nHome,Places\n".encode(), owner)[0]
        again, is_new, _ = bring(study, "Code;Family\nCafe\u0301;Places\nHome;Places\n".encode(), owner)
        assert (again, is_new) == (first, False)
        assert [code.identifier for code in queries.read_content(again).codes] == ["places.café", "places.home"]

    def test_a_known_code_is_found_by_its_name_and_keeps_what_the_list_leaves_out(self, study, published, lead):
        before = content_of(published, "theme.balance")
        data = f"Code,Definition\n{before.name},In other words.\nBrand new,\n".encode()
        plan = actions.plan_import(study=study, data=data, name="file", keep_missing=True)
        codes = {code.identifier: code for code in plan.content.codes}
        assert codes["theme.balance"] == replace(before, definition="In other words.")
        assert codes["imported.brand_new"].family == "imported"
        assert len(codes) == 43
        assert {family for family in plan.content.families if family.identifier != "imported"} == set(
            plan.before.families
        )

    def test_rows_added_to_the_exported_table_need_no_more_than_name_and_family(self, study, published, lead):
        heading = as_csv(published).decode().partition("\r\n")[0].split(",")
        added = [
            ",".join({"name": name, "family": family}.get(column, "") for column in heading)
            for name, family in (("Irony", "themes"), ("Weather", "Small talk"))
        ]
        plan = actions.plan_import(study=study, data=as_csv(published) + "\r\n".join(added).encode(), name="file")
        new = [code for code in plan.content.codes if code.identifier not in {c.identifier for c in plan.before.codes}]
        assert [(code.identifier, code.family) for code in new] == [
            ("theme.irony", "themes"),
            ("small_talk.weather", "small_talk"),
        ]
        assert all(code.is_added for code in plan.comparison.codes)


class TestWhatIsSaid:
    def test_effect_that_is_not_said_counts_as_another_meaning(self, study, published, lead):
        changed = as_csv(published).replace(b"Group knowledge both helps", b"Group knowledge helps")
        version = bring(study, changed, lead)[0]
        assert find(version, "theme.balance").meaning_version == 2
        assert list_steps(version) == [("redefined", "", "theme.balance", "theme.balance")]

    def test_new_words_for_machines_need_no_effect(self, study, published, lead):
        machine = content_of(published, "theme.balance").machine_definition.encode()
        version = bring(study, as_csv(published).replace(machine, b"Answer yes."), lead)[0]
        assert find(version, "theme.balance").meaning_version == 1

    def test_every_kind_of_change_is_recorded(self, study, published, lead):
        rows = list(make_rows(read_version(published)))
        rows[0] = replace(rows[0], name="Renamed", key="")
        added = replace(rows[2], code_id="theme.added", key="", name="Added")
        stream = io.StringIO(newline="")
        write_codebook([rows[0], *rows[2:], added], stream)
        version = bring(study, stream.getvalue().encode(), lead)[0]
        assert sorted(list_steps(version)) == [
            ("added", "", "", "theme.added"),
            ("adjusted", "wording", "theme.models_metamodels", "theme.models_metamodels"),
            ("renamed", "wording", "theme.models_metamodels", "theme.models_metamodels"),
            ("retired", "", "theme.identity_as_context", ""),
        ]

    def test_plan_tells_what_would_change_and_stores_nothing(self, study, published, lead):
        changed = as_csv(published).replace(b"Group knowledge both helps", b"Group knowledge helps")
        plan = actions.plan_import(study=study, data=changed, name="file")
        assert [code.identifier for code in plan.changes_meaning] == ["theme.balance"]
        assert (plan.form, plan.comparison.unchanged) == ("csv", 41)
        assert study.codebook_versions.count() == 1


FOREIGN = """<?xml version="1.0"?>
<CodeBook xmlns="urn:QDA-XML:codebook:1:0" origin="Another program">
 <Codes>
  <Code guid="11111111-0000-0000-0000-000000000001" name="Trust" isCodable="false" color="#AA5500">
   <Description>About trust.</Description>
   <Code guid="11111111-0000-0000-0000-000000000002" name="In people" isCodable="true">
    <Code guid="11111111-0000-0000-0000-000000000003" name="In experts" isCodable="true"/>
   </Code>
  </Code>
  <Code guid="11111111-0000-0000-0000-000000000004" name="Loose" isCodable="true"><Description>Alone.</Description></Code>
 </Codes>
 <Sets/>
</CodeBook>"""


class TestForeignFiles:
    def test_categories_become_families_and_loose_codes_one_of_their_own(self, study, published, lead):
        version = bring(study, FOREIGN.encode(), lead)[0]
        content = queries.read_content(version)
        assert [(each.identifier, each.description, each.color) for each in content.families] == [
            ("trust", "About trust.", "#aa5500"),
            ("imported", "", ""),
        ]
        assert [(each.name, each.family, each.parent) for each in content.codes] == [
            ("In people", "trust", ""),
            ("In experts", "trust", "trust.in_people_11111111"),
            ("Loose", "imported", ""),
        ]
        assert content.codes[2].definition == "Alone."

    def test_codes_of_another_program_are_found_again_by_their_guids(self, study, lead):
        data = FOREIGN.replace("11111111-0000-0000-0000-00000000000", "{}0000000-0000-0000-0000-00000000000")
        for number in range(1, 5):
            data = data.replace("{}0000000", f"{number}" * 8, 1)
        first = bring(study, data.encode(), lead)[0]
        renamed = data.replace('name="In experts"', 'name="In the learned"').encode()
        second = bring(study, renamed, lead)[0]
        [difference] = queries.find_comparison(first, second).codes
        assert difference.kinds == ["renamed"]

    def test_codes_can_be_added_to_those_there_are(self, study, published, lead):
        version = bring(study, FOREIGN.encode(), lead, keep_missing=True)[0]
        assert version.codes.count() == 42 + 3
        actions.publish_version(version=version, by=lead)

    @pytest.mark.parametrize(
        ("name", "family", "codes"),
        [("taguette/codebook.qdc", "Imported", 16), ("refi/qualcoder_codebook.qdc", "Mannheimer", 284)],
    )
    def test_codebooks_of_other_programs_come_in(self, study, lead, name, family, codes):
        version = bring(study, shared(f"data/qda/{name}").read_bytes(), lead)[0]
        assert list(version.families.values_list("name", flat=True)) == [family]
        assert version.codes.count() == codes
        assert actions.find_obstacles(version) == []


class TestBadFiles:
    def test_tree_that_is_too_deep_is_refused_in_words(self, study, lead):
        opening = "".join(f'<Code guid="{uuid.UUID(int=n)}" name="c{n}">' for n in range(1, 12))
        data = f'<CodeBook xmlns="urn:QDA-XML:codebook:1.0"><Codes>{opening}{"</Code>" * 11}</Codes></CodeBook>'
        with pytest.raises(actions.CodebookRefused) as refused:
            bring(study, data.encode(), lead)
        assert "c9: it is 9 levels deep; the limit is 8." in refused.value.problems

    def test_ten_thousand_levels_and_a_document_type_are_refused(self, study, lead):
        deep = "<Code guid='x' name='c'>" * 10_000
        for data in (f"<CodeBook><Codes>{deep}", '<!DOCTYPE x [<!ENTITY y "z">]><CodeBook/>'):
            with pytest.raises(actions.CodebookRefused) as refused:
                bring(study, data.encode(), lead)
            assert refused.value.problems

    def test_keys_and_ids_that_clash_are_refused_with_their_rows(self, study, published, lead):
        rows = list(make_rows(read_version(published)))
        stream = io.StringIO(newline="")
        write_codebook([*rows, rows[0], replace(rows[1], code_id="theme.other")], stream)
        with pytest.raises(actions.CodebookRefused) as refused:
            bring(study, stream.getvalue().encode(), lead)
        assert len(refused.value.problems) == 3
        assert all("row 4" in problem for problem in refused.value.problems)

    def test_definition_of_a_megabyte_is_refused_with_both_numbers(self, study, published, lead):
        file = json.loads(as_json(published))
        file["codes"][0]["definition"] = "x" * 1_000_000
        with pytest.raises(actions.CodebookRefused, match="1,000,000") as refused:
            bring(study, json.dumps(file).encode(), lead)
        assert "20,000" in refused.value.problems[0]
        assert study.codebook_versions.count() == 1


HEADER = ",".join(COLUMNS) + "\r\n"
BEGINNINGS = [b"", b"{", b'{"format": "auditapp-codebook", "format_version": 1, ', b"<", b"<CodeBook>", HEADER.encode()]


@pytest.mark.django_db
class TestAnything:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(start=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
    @example(start=b"", rest=b"\xff\xfe<\0")
    @example(start=b"\xef\xbb\xbf", rest=b"  <a/>")
    @example(start=b"{", rest=b'"format":' + b"[" * 5_000)
    def test_arbitrary_bytes_are_taken_or_refused_in_words(self, study, start, rest):
        found = look_at(study, start + rest)
        assert found
        assert all(found)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(draw=st.data())
    def test_files_with_a_few_bytes_changed_are_taken_or_refused_in_words(self, study, published, draw):
        write = draw.draw(st.sampled_from([as_csv, as_json, as_qdc]))
        data = bytearray(write(published))
        for _ in range(draw.draw(st.integers(1, 4))):
            data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
        assert look_at(study, bytes(data))

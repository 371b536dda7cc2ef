"""Two people, one thing: a form that replaces what is stored never takes back in silence what somebody else saved meanwhile.

Every form of the site is named below. A new one fails until it is said what it does.
"""

import re
from html import unescape

import pytest
from django import forms
from django.urls import get_resolver

from tests.support.form_values import read_form
from tests.support.whole_study import set_stage
from transcripts.accounts import second_factor_views  # noqa: F401 - its forms are loaded late, by a setting
from transcripts.ui.forms import ReplacingForm

# Forms that are filled in with what is stored and replace it: the hidden field by which a change made meanwhile is noticed.
REPLACE = {
    "auditapp.llm.forms.CapabilitiesForm": "seen",
    "auditapp.benchmarks.gender_cues.forms.PurposeForm": "based_on",
    "auditapp.evaluation.forms.DisagreementForm": "replaces",
    "auditapp.benchmarks.scenarios.forms.NextScriptForm": "based_on",
    "auditapp.benchmarks.sob.texts.forms.MappingForm": "based_on",
    "auditapp.benchmarks.sob.texts.forms.TargetsForm": "based_on",
    "auditapp.benchmarks.sob.texts.forms.RecordForm": "seen",
    "transcripts.agreement.forms.VerdictForm": "revision",
    "transcripts.codebook.forms.CodeForm": "revision",
    "transcripts.codebook.forms.FamilyForm": "revision",
    "transcripts.corpus.forms.RedactionForm": "based_on",
    "transcripts.corpus.forms.DetailsForm": "seen",
    "transcripts.negotiation.forms.CaseSheetForm": "based_on",
    "transcripts.negotiation.forms.PairForm": "seen",
    "transcripts.negotiation.forms.NextStanceForm": "based_on",
    "transcripts.analysis.themes.forms.SplitForm": "version",
    "transcripts.analysis.themes.forms.ThemeForm": "version",
}
ROOM = re.compile(r"(auditapp\.benchmarks|transcripts\.analysis|auditapp|transcripts)\.\w+")
# Forms that replace one value, or a person's own: she sets what she sees, the last word holds, and the history has all.
ONE_VALUE_OR_OWN = """
auditapp.audits: BaseMarkForm
auditapp.batches: CapForm ConcurrencyForm GrantForm NameForm
auditapp.llm: AddressForm KeyForm KeyVariableForm PriceForm
auditapp.evaluation: ChoiceForm MarkForm
auditapp.annotators: FamilyReasonForm
auditapp.suggestions: WithholdingForm
auditapp.benchmarks.sob: InterpretationForm MarkForm
transcripts.analysis.notebook: MemoForm
transcripts.negotiation: ScoreForm
transcripts.studies: MethodForm RoleForm
transcripts.revision: AnchorReadingForm ReReviewForm
transcripts.analysis.themes: EntryForm QuoteForm StatementForm
"""
# Forms that add, choose, confirm or end something.
OTHERS = """
auditapp.audits: OpenResultsForm
auditapp.batches: AnswersForm AttemptChoice ConfirmForm LaunchForm LaunchOptionsForm
auditapp.benchmarks.experiments: DrawForm PlanForm UnitsForm
auditapp.llm: ModelForm
auditapp.evaluation: CalibrationForm CellForm CheckForm CriticForm DrawForm FilterForm
auditapp.suggestions: DraftForm
auditapp.evaluation: CompletedForm RejectionChoice
auditapp.annotators: OfflineForm ControlSentenceForm PreannotationForm
auditapp.suggestions: ResponseForm
auditapp.annotators: SmallPilotOptions
auditapp.evaluation: SpreadForm SuggestionsForm ThresholdForm
auditapp.benchmarks.gender_cues: LaunchForm LoadForm RationalesForm ReportForm WithdrawForm
auditapp.benchmarks.scenarios: AskForm CloseForm DiscardForm KeyedForm LaunchForm LoadForm OpenSessionForm ReportForm ScriptForm
auditapp.benchmarks.sob: AuditForm CombineForm DrawFields FileForm FormatterForm ImportForm LaunchForm LoadForm MappingRowForm
auditapp.benchmarks.sob: NewDatasetForm RetargetForm SampleForm WordingForm
auditapp.webhooks: WebhookForm
transcripts.accounts: AuthenticateForm ReauthenticateForm SignInForm TokenForm
transcripts.agreement: ReasonForm SelectionForm UnitsForm
transcripts.blinding: ConditionForm UnblindingForm UnmaskForm
transcripts.codebook: AnswerForm AttributeForm CodebookFileForm CompareForm ConfirmForm ExampleForm InventedExampleForm MergeForm
transcripts.codebook: NeedsReason PartForm PinForm PinnedExampleForm ProposalForm ReasonForm SeenForm StudyForm
transcripts.corpus: ChosenForm ConsentForm ImportForm
transcripts.exchange: StudyFileForm
transcripts.history: NextForm
transcripts.analysis.notebook: MemoSearchForm
transcripts.negotiation: StanceForm StudyForm
transcripts.studies: MemberForm
transcripts.analysis.search: AnswerForm CountForm PairForm SearchForm SheetForm
transcripts.revision: AnchorForm DrawForm
transcripts.rounds: CellsForm CompleteInterviewForm LockForm RoundForm CompleteForm CompleteSeveralForm
transcripts.analysis.themes: GroupForm MergeForm NewThemeForm
transcripts.ui: OnceForm ReplacingForm RowForm
"""
# Of forms that replace: the page, the field that both change, and what else is needed to save it. The others (scripts, stances,
# case sheets, pairs, tables, verdicts, disagreements) are sent by two people in the tests of their rooms.
PAGES = {
    "auditapp.llm.forms.CapabilitiesForm": ("llm:model", "max_output_tokens", {}),
    "auditapp.benchmarks.gender_cues.forms.PurposeForm": ("gender_cues:purpose", "text", {}),
    "auditapp.benchmarks.sob.texts.forms.RecordForm": ("sob:describe", "source_name", {}),
    "transcripts.codebook.forms.CodeForm": ("codebook:edit_code", "definition", {"effect": "wording"}),
    "transcripts.codebook.forms.FamilyForm": ("codebook:edit_family", "description", {}),
    "transcripts.corpus.forms.RedactionForm": ("corpus:redaction", "entries", {"reason": "Names."}),
    "transcripts.corpus.forms.DetailsForm": ("corpus:details", "title", {}),
    "transcripts.analysis.themes.forms.ThemeForm": ("themes:edit", "description", {"reason": "Better."}),
}
TEXTS = {"max_output_tokens": ("4321", "8765"), "entries": ("Anna -> [A]", "Ben -> [B]")}


def list_forms():
    """Every form of the product: its views are loaded by the site map."""
    assert get_resolver().url_patterns

    def walk(kind):
        for each in kind.__subclasses__():
            yield each
            yield from walk(each)

    ours = (each for each in walk(forms.BaseForm) if each.__module__.startswith(("auditapp.", "transcripts.")))
    return {f"{each.__module__}.{each.__qualname__}": each for each in ours}


def test_every_form_is_known_for_what_it_replaces():
    said = [
        f"{room}:{form}"
        for text in (ONE_VALUE_OR_OWN, OTHERS)
        for line in text.split("\n")
        if line
        for room, _, names in [line.partition(": ")]
        for form in names.split()
    ]
    assert len(said) == len(set(said))
    found = list_forms()
    places = [(ROOM.match(name), name.rpartition(".")[2]) for name in found if name not in REPLACE]
    short = {f"{room.group()}:{form}" for room, form in places if room}
    assert short == set(said), "say in this module what the form replaces, and how a change made meanwhile is noticed"
    for name, guard in REPLACE.items():
        assert guard in found[name].base_fields, name
        assert found[name].base_fields[guard].widget.is_hidden, name
    assert {name for name, form in found.items() if issubclass(form, ReplacingForm)} <= {
        *REPLACE,
        "transcripts.ui.forms.ReplacingForm",
    }


@pytest.mark.parametrize("form", PAGES)
def test_who_is_late_is_shown_both_texts_and_takes_nothing_back(form, study, owner, lead, client_of):
    owner.is_superuser = True
    owner.save()
    stage = set_stage(study, owner, lead)
    name, field, more = PAGES[form]
    client, path = client_of(owner), stage.path(name)
    action, values = read_form(client.get(path).content.decode(), field)
    first, second = TEXTS.get(field, ("Quicker words.", "Later words."))
    to = action or path
    answer = client.post(to, {**values, **more, field: first})
    assert answer.status_code == 302
    late = client.post(to, {**values, **more, field: second})
    page = unescape(late.content.decode())
    assert late.status_code == 409
    assert first.partition(" -> ")[0] in page
    assert second in page
    _, kept = read_form(client.get(path).content.decode(), field)
    assert kept[field] == [first]
    again = read_form(late.content.decode(), field)[1]
    assert again[field] == [second]
    assert client.post(to, {**again, **more}).status_code == 302, "seen both, she may save"


def test_what_the_late_person_did_not_touch_is_as_the_other_left_it(study, owner, lead, client_of):
    """An exclusion was undone by somebody who corrected a typing error."""
    interview = set_stage(study, owner, lead).sentence.turn.interview
    path = f"/studies/{study.slug}/interviews/{interview.pk}/details/"
    values = read_form(client_of(lead).get(path).content.decode(), "title")[1]
    excluded = {"inclusion": "excluded", "inclusion_reason": "Consent withdrawn.", "reason": "By phone."}
    assert client_of(owner).post(path, {**values, **excluded}).status_code == 302
    late = client_of(lead).post(path, {**values, "tier": "B", "reason": "A slip."})
    assert late.status_code == 409
    again = read_form(late.content.decode(), "title")[1]
    assert (again["inclusion"], again["inclusion_reason"], again["tier"]) == (
        ["excluded"],
        ["Consent withdrawn."],
        ["B"],
    )
    assert client_of(lead).post(path, again).status_code == 302
    interview.refresh_from_db()
    assert (interview.inclusion, interview.tier, interview.standing) == ("excluded", "B", "excluded")


def test_rights_that_somebody_else_gave_meanwhile_stay(study, owner, coder, client_of):
    owner.is_superuser = True
    owner.save()
    client = client_of(owner)
    page = client.get("/people/").content.decode()
    path = f"/people/{coder.pk}/rights/"
    assert path in page
    client.post(path, {"start_studies": "yes"})
    client.post(path, {"invite": "yes"})
    coder.refresh_from_db()
    assert (coder.may_start_studies, coder.may_invite) == (True, True)
    client.post(path, {"had_invite": "yes", "had_start_studies": "yes", "start_studies": "yes"})
    coder.refresh_from_db()
    assert (coder.may_start_studies, coder.may_invite) == (True, False)

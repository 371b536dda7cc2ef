from __future__ import annotations

from django.urls import URLPattern, URLResolver, path, re_path

from auditapp.api import (
    batches,
    benchmarks,
    bulk,
    codebook,
    codings,
    exports,
    interviews,
    launching,
    measures,
    memos,
    negotiation,
    scores,
    sessions,
    studies,
)
from auditapp.api.schema import ReadSchema
from auditapp.api.views import UnknownAddress

app_name = "api"

STUDY = "studies/<slug:slug>"

urlpatterns: list[URLPattern | URLResolver] = [
    # studies/
    path("studies/", studies.ListStudies.as_view(), name="studies"),
    path(f"{STUDY}/", studies.ReadStudy.as_view(), name="study"),
    # studies/<slug>/interviews/
    path(f"{STUDY}/interviews/", bulk.Interviews.as_view(), name="interviews"),
    path(f"{STUDY}/interviews/<int:interview_id>/", interviews.ReadInterview.as_view(), name="interview"),
    path(f"{STUDY}/interviews/<int:interview_id>/sentences/", interviews.ListSentences.as_view(), name="sentences"),
    path(f"{STUDY}/interviews/<int:interview_id>/turns/", interviews.ListTurns.as_view(), name="turns"),
    path(f"{STUDY}/sentences/", interviews.ListStudySentences.as_view(), name="study_sentences"),
    # studies/<slug>/codebook/, codings/, decisions/, memos/
    path(f"{STUDY}/codebook/", codebook.Codebook.as_view(), name="codebook"),
    path(f"{STUDY}/codebook/versions/", codebook.ListVersions.as_view(), name="codebook_versions"),
    path(f"{STUDY}/codebook/versions/<int:number>/publish/", codebook.PublishCodebook.as_view(), name="publish"),
    path(f"{STUDY}/codings/", codings.Codings.as_view(), name="codings"),
    path(f"{STUDY}/codings/bulk/", bulk.AddCodings.as_view(), name="add_codings"),
    path(f"{STUDY}/codings/<int:coding_id>/withdraw/", codings.WithdrawCoding.as_view(), name="withdraw"),
    path(f"{STUDY}/decisions/", codings.Decisions.as_view(), name="decisions"),
    path(f"{STUDY}/decisions/bulk/", bulk.DecideSentences.as_view(), name="decide_sentences"),
    path(f"{STUDY}/decisions/<int:decision_id>/reopen/", codings.ReopenSentence.as_view(), name="reopen"),
    path(f"{STUDY}/memos/", memos.Memos.as_view(), name="memos"),
    path(f"{STUDY}/memos/<int:memo_id>/revise/", memos.ReviseMemo.as_view(), name="revise_memo"),
    path(f"{STUDY}/memos/<int:memo_id>/withdraw/", memos.WithdrawMemo.as_view(), name="withdraw_memo"),
    # studies/<slug>/links/, normative-stances/, scores/, case-sheets/, pairs/, trajectory-report/
    path(f"{STUDY}/links/", negotiation.Links.as_view(), name="links"),
    path(f"{STUDY}/links/<int:link_id>/withdraw/", negotiation.WithdrawLink.as_view(), name="withdraw_link"),
    path(f"{STUDY}/normative-stances/", scores.Stances.as_view(), name="normative_stances"),
    path(f"{STUDY}/scores/", scores.Scores.as_view(), name="scores"),
    path(f"{STUDY}/scores/<int:score_id>/withdraw/", scores.WithdrawScore.as_view(), name="withdraw_score"),
    path(f"{STUDY}/case-sheets/", negotiation.CaseSheets.as_view(), name="case_sheets"),
    path(f"{STUDY}/pairs/", negotiation.Pairs.as_view(), name="pairs"),
    path(f"{STUDY}/pairs/<str:pair_name>/withdraw/", negotiation.WithdrawPair.as_view(), name="withdraw_pair"),
    path(f"{STUDY}/trajectory-report/", negotiation.ReadTrajectoryReport.as_view(), name="trajectory_report"),
    # studies/<slug>/sessions/
    path(f"{STUDY}/sessions/", sessions.Sessions.as_view(), name="sessions"),
    path(f"{STUDY}/sessions/<int:session_id>/questions/", sessions.Talk.as_view(), name="session_questions"),
    path(f"{STUDY}/sessions/<int:session_id>/branches/", sessions.BranchSession.as_view(), name="branch_session"),
    path(f"{STUDY}/sessions/<int:session_id>/close/", sessions.CloseSession.as_view(), name="close_session"),
    # studies/<slug>/scripts/
    path(f"{STUDY}/scripts/", benchmarks.ListScripts.as_view(), name="scripts"),
    # studies/<slug>/experiments/
    path(f"{STUDY}/experiments/", benchmarks.Experiments.as_view(), name="experiments"),
    path(f"{STUDY}/experiments/<int:experiment_id>/units/", benchmarks.LoadUnits.as_view(), name="experiment_units"),
    path(
        f"{STUDY}/experiments/<int:experiment_id>/report/",
        benchmarks.ReadExperimentReport.as_view(),
        name="experiment_report",
    ),
    # studies/<slug>/exports/
    path(f"{STUDY}/exports/", exports.ListExports.as_view(), name="exports"),
    path(f"{STUDY}/exports/files/<int:export_id>/", exports.ReadExportFile.as_view(), name="export_file"),
    path(f"{STUDY}/exports/files/<int:export_id>/take/", exports.TakeExportFile.as_view(), name="take_export_file"),
    path(f"{STUDY}/exports/<slug:what>/", exports.WriteExport.as_view(), name="export"),
    # studies/<slug>/grants/, batches/
    path(f"{STUDY}/grants/", studies.ListGrants.as_view(), name="grants"),
    path(f"{STUDY}/batches/", batches.ListBatches.as_view(), name="batches"),
    path(f"{STUDY}/batches/<int:batch_id>/", batches.ReadBatch.as_view(), name="batch"),
    path(f"{STUDY}/batches/<int:batch_id>/probe-report/", benchmarks.ReadProbeReport.as_view(), name="probe_report"),
    path(
        f"{STUDY}/batches/<int:batch_id>/scenario-report/",
        benchmarks.ReadScenarioReport.as_view(),
        name="scenario_report",
    ),
    path(f"{STUDY}/batches/<int:batch_id>/sob-report/", benchmarks.ReadSobReport.as_view(), name="sob_report"),
    path(
        f"{STUDY}/batches/<int:batch_id>/sob-comparison/<int:other_id>/",
        benchmarks.ReadSobComparison.as_view(),
        name="sob_comparison",
    ),
    # studies/<slug>/webhooks/
    path(f"{STUDY}/webhooks/", studies.Webhooks.as_view(), name="webhooks"),
    # studies/<slug>/batches/: launches, controls, answers
    path(f"{STUDY}/batches/preannotation/", launching.LaunchPreannotation.as_view(), name="launch_preannotation"),
    path(
        f"{STUDY}/batches/preannotation/estimate/",
        launching.EstimatePreannotation.as_view(),
        name="estimate_preannotation",
    ),
    path(f"{STUDY}/batches/sob/", launching.LaunchSob.as_view(), name="launch_sob"),
    path(f"{STUDY}/batches/sob/estimate/", launching.EstimateSob.as_view(), name="estimate_sob"),
    path(f"{STUDY}/batches/scenario/", benchmarks.LaunchScenarios.as_view(), name="launch_scenarios"),
    path(f"{STUDY}/batches/scenario/estimate/", benchmarks.EstimateScenarios.as_view(), name="estimate_scenarios"),
    path(f"{STUDY}/batches/<int:batch_id>/estimate/", batches.EstimateRest.as_view(), name="batch_estimate"),
    path(f"{STUDY}/batches/<int:batch_id>/pause/", batches.PauseBatch.as_view(), name="pause_batch"),
    path(f"{STUDY}/batches/<int:batch_id>/resume/", batches.ResumeBatch.as_view(), name="resume_batch"),
    path(f"{STUDY}/batches/<int:batch_id>/cancel/", batches.CancelBatch.as_view(), name="cancel_batch"),
    path(f"{STUDY}/batches/<int:batch_id>/approve/", batches.ApproveBatch.as_view(), name="approve_batch"),
    path(f"{STUDY}/batches/<int:batch_id>/name/", batches.NameBatch.as_view(), name="name_batch"),
    path(f"{STUDY}/batches/<int:batch_id>/jobs/<int:job_id>/end/", batches.EndJob.as_view(), name="end_job"),
    path(f"{STUDY}/batches/<int:batch_id>/answers/", batches.ReadAnswers.as_view(), name="batch_answers"),
    # studies/<slug>/agreement/, annotators/
    path(f"{STUDY}/models-compared/", measures.ReadComparedModels.as_view(), name="models_compared"),
    path(f"{STUDY}/agreement/", measures.ReadAgreement.as_view(), name="agreement"),
    path(f"{STUDY}/annotators/", measures.ListAnnotators.as_view(), name="annotators"),
    path(f"{STUDY}/annotators/<int:annotator_id>/calibration/", measures.ReadCalibration.as_view(), name="calibration"),
    # schema/, and everything else
    path("schema/", ReadSchema.as_view(), name="schema"),
    re_path(r"", UnknownAddress.as_view()),
]

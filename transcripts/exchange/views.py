"""The page of exports, and the downloads."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from transcripts.exchange import actions
from transcripts.exchange.registry import Scope, find_export, list_exports
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_safe
@project_view(Permission.VIEW)
def list_downloads(request: ProjectRequest) -> HttpResponse:
    """What this person may take out."""
    exports = [export for export in list_exports() if export.permission in request.role.permissions]
    own_only = Permission.SEE_ALL_CODINGS not in request.role.permissions
    context = {"exports": exports, "formats": list(actions.WRITERS), "own_only": own_only}
    return render(request, "exchange/exports.html", context)


@require_POST
@project_view(Permission.VIEW)
def download(request: ProjectRequest, what: str, format: str) -> HttpResponseBase:
    """Write a table and send it. A POST, for taking data out is recorded."""
    export = find_export(what)
    if export is None or format not in actions.WRITERS:
        raise Http404("No such export.")
    if export.permission not in request.role.permissions:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    only = None if Permission.SEE_ALL_CODINGS in request.role.permissions else request.user
    # The file lives in a folder that goes when the response is closed.
    folder = tempfile.TemporaryDirectory(prefix="auditapp-export-")
    written = actions.write_export(
        export=export,
        scope=Scope(request.project, only),
        format=format,
        path=Path(folder.name) / f"{what}.{format}",
        by=request.user,
        exact=request.POST.get("exact") == "on",
    )
    response = FileResponse(
        written.path.open("rb"),
        as_attachment=True,
        filename=f"{request.project.slug}-{what}.{format}",
        content_type=actions.CONTENT_TYPES[format],
    )
    response["X-Content-SHA256"] = written.sha256
    response._resource_closers.append(folder.cleanup)  # type: ignore[attr-defined]  # noqa: SLF001
    return response

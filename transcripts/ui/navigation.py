"""The pages of a study in the order of the work: the bar above every page.

Its first row has the destinations of a study. The second has the pages of the open one, in groups: the pages of the open group
are shown next to its name. A deeper page has its own breadcrumb.

Rooms are named by their routes, so that this room need not import them; a route that does not exist is left out.

What a page is for and what to do there first: one line, shown to each person until she dismisses it.

A page without an entry has no such line.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse


class Page(NamedTuple):
    """A page of a study that the bar leads to. ``permission`` is the one needed to see it, "" for any member.

    ``holds`` names the routes of deeper pages that belong to it; "room:" means every page of a room that has no entry of
    its own.
    """

    name: str
    route: str
    permission: str = ""
    holds: tuple[str, ...] = ()


class Group(NamedTuple):
    """Pages that belong together, under one name, which leads to the first of them that the reader may see."""

    name: str
    pages: tuple[Page, ...]


class Destination(NamedTuple):
    """An entry in the first row of the bar. It leads to the first page that the reader may see.

    ``batch`` are the pages of one batch, which replace the others on a page of that batch.
    """

    name: str
    entries: tuple[Page | Group, ...]
    batch: tuple[Page | Group, ...] = ()


class Link(NamedTuple):
    """``current`` is "page" for the open page, "true" for what contains it, or "". ``pages`` are those of an open group."""

    name: str
    address: str
    current: str = ""
    pages: tuple[Link, ...] = ()


class Bar(NamedTuple):
    """The two rows of the bar."""

    destinations: tuple[Link, ...] = ()
    pages: tuple[Link, ...] = ()


DESTINATIONS = (
    Destination("Overview", (Page("Overview", "studies:home"),)),
    Destination(
        "Interviews",
        (
            Page(
                "Interviews",
                "corpus:interviews",
                holds=("corpus:", "desk:", "jobs:", "blinding:", "negotiation:case_sheet"),
            ),
            Group(
                "Held live",
                (
                    Page(
                        "Live interviews",
                        "scenarios:sessions",
                        holds=("scenarios:session", "scenarios:open_session"),
                    ),
                    Page(
                        "Interview scripts",
                        "scenarios:scripts",
                        holds=("scenarios:new_script", "scenarios:next_script"),
                    ),
                ),
            ),
            Page("Consent", "corpus:consent", holds=("corpus:interview_consent",)),
            Page("Redaction", "corpus:redaction", "set_method"),
        ),
    ),
    Destination(
        "Codebook",
        (
            Page("Codebook", "codebook:current", holds=("codebook:", "revision:effects")),
            Page("Proposals", "codebook:proposals", holds=("codebook:propose",)),
            Page("Re-review", "revision:queue", "code", holds=("revision:",)),
            Page(
                "Anchors and drift",
                "revision:anchors",
                "code",
                holds=("revision:read", "revision:draw", "revision:add", "revision:remove"),
            ),
        ),
    ),
    Destination(
        "Analysis",
        (
            Page("Search", "search:search", holds=("search:",)),
            Group(
                "Tables",
                (
                    Page("By interview", "search:by_interview"),
                    Page("By model", "search:by_model"),
                    Page("Answers by code", "search:by_answer"),
                    Page("Co-occurrence", "search:cooccurrence"),
                    Page("Score sheets", "search:score_sheets", holds=("search:score_sheet",)),
                ),
            ),
            Group(
                "Theme analysis",
                (
                    Page("All themes", "themes:themes", holds=("themes:",)),
                    Page("Presence", "themes:presence"),
                    Page("Models compared", "themes:compared"),
                    Page(
                        "Six phases",
                        "themes:phases",
                        holds=("themes:write_entry", "themes:change_entry", "themes:withdraw_entry"),
                    ),
                    Page(
                        "Positionality",
                        "themes:positionality",
                        holds=("themes:write_statement", "themes:withdraw_statement", "themes:postpone_statement"),
                    ),
                ),
            ),
            Group(
                "Negotiation",
                (
                    Page("Threads compared", "negotiation:study", holds=("negotiation:",)),
                    Page("Pairs", "negotiation:pairs", holds=("negotiation:pair", "negotiation:withdraw_pair")),
                    Page(
                        "Normative stances",
                        "negotiation:stances",
                        holds=("negotiation:new_stance", "negotiation:next_stance"),
                    ),
                    Page(
                        "Scores",
                        "negotiation:scores",
                        holds=("negotiation:thread_scores", "negotiation:put_score", "negotiation:withdraw_score"),
                    ),
                ),
            ),
            Page("Experiments", "experiments:list", "see_all_codings", holds=("experiments:",)),
            Page("Memos", "notebook:list", holds=("notebook:",)),
        ),
    ),
    Destination(
        "Team",
        (
            Page(
                "My work",
                "rounds:work",
                "code",
                holds=(
                    "rounds:complete_assignment",
                    "rounds:complete_several",
                    "rounds:complete_interview",
                    "rounds:reopen_interview",
                ),
            ),
            Page("Rounds", "rounds:list", "assign", holds=("rounds:",)),
            Page("Agreement", "agreement:table", "see_all_codings", holds=("agreement:",)),
            Page("Disagreements", "agreement:disagreements"),
            Page("Adjudication", "agreement:queue", "see_all_codings", holds=("agreement:adjudicate",)),
            Page("Method", "studies:method"),
            Page("Members", "studies:members", holds=("studies:",)),
            Page("History", "studies:history", "see_all_codings"),
            Page("Webhooks", "webhooks:list", "set_method", holds=("webhooks:",)),
        ),
    ),
    Destination(
        "Models",
        (
            Page("Batches", "batches:list", holds=("batches:",)),
            Group(
                "Annotators",
                (
                    Page(
                        "All annotators",
                        "annotators:annotators",
                        "see_all_codings",
                        holds=("annotators:", "evaluation:", "suggestions:"),
                    ),
                    Page("Annotate with a model", "annotators:launch", "run_batches"),
                    Page("Annotate without a model", "annotators:launch_offline", "run_batches"),
                    Page(
                        "Control sentences",
                        "annotators:control_sentences",
                        "run_batches",
                        holds=("annotators:add_control_set", "annotators:withdraw_control_sentence"),
                    ),
                ),
            ),
            Group(
                "Influence",
                (
                    Page(
                        "Influence",
                        "evaluation:influence",
                        holds=("evaluation:open_completed", "annotators:", "suggestions:"),
                    ),
                    Page("Withholding", "suggestions:withholding", "set_method"),
                    Page("Drafts", "suggestions:drafts", "set_method", holds=("suggestions:close_draft",)),
                ),
            ),
            Group(
                "Calibration",
                (
                    Page(
                        "Calibration",
                        "evaluation:calibration",
                        "see_all_codings",
                        holds=("evaluation:calibration_cell", "evaluation:calibration_compute"),
                    ),
                    Page(
                        "Disagreements",
                        "evaluation:disagreements",
                        "see_all_codings",
                        holds=("evaluation:unsorted", "evaluation:sort_disagreement"),
                    ),
                    Page("Choice per code", "evaluation:choose", "set_method"),
                    Page("Rates", "evaluation:rates", "see_all_codings", holds=("evaluation:rates_compute",)),
                    Page("Several annotators", "evaluation:spread", "see_all_codings"),
                ),
            ),
            Group(
                "Audits",
                (
                    Page(
                        "All audits",
                        "evaluation:audits",
                        "see_all_codings",
                        holds=(
                            "evaluation:audit",
                            "evaluation:audit_items",
                            "evaluation:mark",
                            "evaluation:draw_audit",
                            "evaluation:audit_results",
                        ),
                    ),
                    Page("Critic", "evaluation:critic", "run_batches"),
                    Page("Rejections", "evaluation:rejections", "see_all_codings"),
                ),
            ),
            Page("Judges", "llm:judges", holds=("llm:",)),
            Page("Grants", "batches:grants", "run_batches", holds=("batches:account_grants", "batches:revoke_grant")),
        ),
    ),
    Destination(
        "Benchmark",
        (
            Page("Second-order bias", "sob:dashboard", holds=("sob:",)),
            Page(
                "Texts",
                "sob:datasets",
                holds=("sob:dataset", "sob:combine", "sob:sample", "sob:retarget", "sob:describe"),
            ),
            Page("Target tables", "sob:targets", holds=("sob:target_table", "sob:target_edit")),
            Page("Wordings", "sob:wordings", holds=("sob:wording", "sob:wording_new")),
            Page("Mappings", "sob:mappings", holds=("sob:mapping_table", "sob:mapping_edit")),
            Page(
                "Scenarios",
                "scenarios:suites",
                "see_all_codings",
                holds=(
                    "scenarios:load_suite",
                    "scenarios:load_shipped",
                    "scenarios:suite",
                    "scenarios:launch",
                    "scenarios:run",
                ),
            ),
            Page("Gender-cue probe", "gender_cues:home", holds=("gender_cues:",)),
        ),
        batch=(
            Group(
                "Scores",
                (
                    Page("All scores", "sob:report", holds=("sob:",)),
                    Page("By model", "sob:model"),
                    Page("Compare", "sob:compare"),
                ),
            ),
            Group(
                "Patterns",
                (
                    Page("Values", "sob:values"),
                    Page("Social map", "sob:map"),
                    Page("Targets", "sob:target"),
                ),
            ),
            Group(
                "Answers",
                (
                    Page("All answers", "sob:responses"),
                    Page("By text", "sob:texts", holds=("sob:text",)),
                ),
            ),
            Group(
                "Quality",
                (
                    Page(
                        "Interpretations",
                        "sob:interpretations",
                        holds=("sob:format_launch", "sob:read_next", "sob:read_answer", "sob:interpretation_history"),
                    ),
                    Page("Audits", "sob:audits", holds=("sob:audit", "sob:audit_new", "sob:audit_open", "sob:mark")),
                    Page("Sensitivity", "sob:sensitivity"),
                    Page("Statistics", "sob:statistics"),
                ),
            ),
            Page("Files", "sob:files"),
        ),
    ),
    Destination(
        "Export",
        (
            Page("Export", "exchange:exports", holds=("exchange:",)),
            Page("Methods paragraph", "exchange:methods", "see_all_codings"),
            Page("Import from another program", "exchange:import", "import"),
        ),
    ),
)

# The guide for the pages of a room or for a single route, which takes precedence: its path below docs/, and the section.
GUIDES = {
    "guide/desk": ("desk:",),
    "guide/codebook": ("codebook:", "revision:"),
    "guide/agreement": ("rounds:", "agreement:"),
    "guide/interviews": ("corpus:", "jobs:"),
    "guide/themes": ("themes:",),
    "guide/themes#memos": ("notebook:",),
    "guide/negotiation": ("negotiation:",),
    "guide/exports": ("exchange:",),
    "guide/accounts": ("accounts:", "mfa_index"),
    "guide/accounts#invite-a-coder": ("studies:members",),
    "guide/interviewing": (
        "scenarios:sessions",
        "scenarios:open_session",
        "scenarios:session",
        "scenarios:scripts",
        "scenarios:new_script",
        "scenarios:next_script",
    ),
    "guide/scenarios": ("scenarios:",),
    "guide/gender-cue-probe": ("gender_cues:",),
    "guide/experiments": ("experiments:",),
    "guide/second-order-bias": ("sob:",),
    "guide/second-order-bias#read-the-heat-map": ("sob:dashboard", "sob:report"),
    "guide/batches": ("batches:",),
    "guide/models": ("llm:",),
    "guide/pre-annotation": ("annotators:", "evaluation:", "suggestions:"),
    "reference/method#counts-of-codes": ("search:",),
    "reference/method#method-of-the-study": ("studies:method",),
    "reference/webhooks": ("webhooks:",),
    "blinding": ("blinding:",),
}


def find_help(view_name: str) -> str:
    """The address of the help for the page of that route: its guide, or the list of all guides; "" where there is no help."""
    ways = (view_name, view_name.partition(":")[0] + ":")
    place, sign, part = next((page for way in ways for page, of in GUIDES.items() if way in of), "").partition("#")
    address = _find_address("help_page", [place]) if place else _find_address("help", [])
    return address and address + sign + part


def build_bar(
    slug: str, *, view_name: str, permissions: Container[str], of: Mapping[str, object] = {}, lies_in: str = ""
) -> Bar:
    """The bar of a study on the page of that route, for somebody with these permissions.

    ``of`` are the arguments of that route: a page of a batch shows the other pages of this batch. ``lies_in`` is the route of
    the page to which this one belongs, where that does not follow from its own route.
    """
    batch = of.get("batch_id")
    place = _find_place(lies_in or view_name, permissions, of_batch=batch is not None)
    destinations: list[Link] = []
    pages: tuple[Link, ...] = ()
    for destination in DESTINATIONS:
        links = _link_all(destination.entries, [slug], place, view_name, permissions)
        if not links:
            continue
        address, is_page = links[0].address, links[0].current == "page" and not links[0].pages
        if batch is not None and place in _flatten(destination.batch):
            links, is_page = _link_all(destination.batch, [slug, batch], place, view_name, permissions), False
        is_open = any(link.current for link in links)
        destinations.append(Link(destination.name, address, "page" if is_page else "true" if is_open else ""))
        if is_open and len(links) > 1:
            pages = links
    return Bar(tuple(destinations), pages)


def _link_all(
    entries: tuple[Page | Group, ...],
    arguments: Sequence[object],
    place: Page | None,
    view_name: str,
    permissions: Container[str],
) -> tuple[Link, ...]:
    """The entries that the reader may see; ``place`` is the open page, or the one that it belongs to."""
    links: list[Link] = []
    for entry in entries:
        found = [
            Link(page.name, address, "" if page is not place else "page" if page.route == view_name else "true")
            for page in _flatten((entry,))
            if _may(page, permissions) and (address := _find_address(page.route, arguments))
        ]
        if len(found) == 1:
            links.append(found[0]._replace(name=entry.name))
        elif any(link.current for link in found):
            links.append(Link(entry.name, found[0].address, "true", tuple(found)))
        elif found:
            links.append(Link(entry.name, found[0].address))
    return tuple(links)


def _find_place(view_name: str, permissions: Container[str], *, of_batch: bool) -> Page | None:
    """The open page, or the one that it belongs to: one that names its route, else its room, else any page of its room."""
    entries = [entry for each in DESTINATIONS for entry in (*(each.batch if of_batch else ()), *each.entries)]
    pages = [page for page in _flatten(entries) if _may(page, permissions)]
    room = view_name.partition(":")[0] + ":"
    ways: tuple[Callable[[Page], bool], ...] = (
        lambda page: page.route == view_name,
        lambda page: view_name in page.holds,
        lambda page: room in page.holds,
        lambda page: page.route.startswith(room),
    )
    return next((page for lies_in in ways for page in pages if lies_in(page)), None)


def _flatten(entries: Iterable[Page | Group]) -> list[Page]:
    return [page for entry in entries for page in (entry.pages if isinstance(entry, Group) else (entry,))]


def _may(page: Page, permissions: Container[str]) -> bool:
    return not page.permission or page.permission in permissions


def _find_address(route: str, arguments: Sequence[object]) -> str:
    return _reverse(route, tuple(arguments), get_urlconf(), get_script_prefix())


@lru_cache(maxsize=4096)
def _reverse(route: str, arguments: tuple[object, ...], urlconf: str | None, prefix: str) -> str:
    """An address, cached: every page asks for the same forty. ``prefix`` is the path of the site, which addresses begin with."""
    try:
        return reverse(route, urlconf, args=arguments)
    except NoReverseMatch:
        return ""


try:
    VERSION = version("auditapp")
except PackageNotFoundError:
    VERSION = "0.1.0"


def site(request: HttpRequest) -> dict[str, object]:
    """The version, and the study a page belongs to."""
    return {
        "site_version": VERSION,
        "study": getattr(request, "study", None),
        "role": getattr(request, "role", None),
    }


# For the route of each page, introductions by permission: a reader sees the first that applies; "" is any member.
INTRODUCTIONS: dict[str, dict[str, str]] = {
    "studies:home": {
        "": "This page shows what is done in the study, what is left, and what is waiting for you. Start at the top.",
    },
    "corpus:interviews": {
        "import": "Every interview, and how far it is coded. Import your own, open one to code it, or tick several to assign them.",
        "code": "Every interview, and how far you have coded it. Open one to code it.",
        "": "Every interview, and how far it is coded. Open one to read it.",
    },
    "desk:desk": {
        "code": "Read the marked sentence, choose the codes that fit, then “Nothing more here”. The key ? lists all keys.",
    },
    "codebook:current": {
        "edit_codebook": "The codes, what each means, and its key at the desk. To change them, edit a draft, then publish it.",
        "code": "The codes, what each means, and its key at the desk. Read the definitions before you begin to code.",
        "": "The codes that coders use, and what each means. Choose one to see its definition and examples.",
    },
    "rounds:work": {
        "": "What is assigned to you, and how far you are. Open an interview to code it, and complete it when you are done.",
    },
    "rounds:list": {
        "assign": "A round says who codes which interviews. Begin with “New round”; coders of one interview can be compared.",
        "": "A round says who codes which interviews. Open one to see what is assigned and completed.",
    },
    "agreement:table": {
        "": "How far coders agree, code by code. Choose a family of codes, then read the disagreements behind a low figure.",
    },
    "agreement:disagreements": {
        "": "Passages that coders coded differently. Choose a family of codes, then read how each coder understood the passage.",
    },
    "themes:themes": {
        "write_themes": "A theme is a pattern of meaning across codes. Begin with “New theme”, or group your codes first.",
        "": "A theme is a pattern of meaning across codes. Open one to see its codes and quotes.",
    },
    "negotiation:stances": {
        "set_method": "A stance says in your words what makes a trajectory good. Write one before anybody gives scores.",
        "": "A stance says what makes a trajectory good, in the words of those who judge. Each score names one stance.",
    },
    "negotiation:scores": {
        "code": "Scores of each thread under each normative stance. Choose “Score” next to a thread to judge it.",
        "": "Scores of each thread under each normative stance. Open a cell to see the evidence for its scores.",
    },
    "negotiation:study": {
        "": "What models do over the turns of a conversation, as one coder read it. Choose a number to see its turns.",
    },
    "annotators:annotators": {
        "run_batches": "An annotator is a model, or rules, that labels interviews. Begin with “Annotate with a model”.",
        "": "An annotator is a model, or rules, that labels interviews. Open one to see its instructions.",
    },
    "evaluation:influence": {
        "": "Whether suggestions change what people code. Figures appear once coders have opened suggestions at the desk.",
    },
    "evaluation:calibration": {
        "": "How well an annotator agrees with people who coded blind. Choose one, and read the verdict before you rely on it.",
    },
    "batches:list": {
        "run_batches": "A batch is one launch of calls to models. Open one to follow it, see its cost, pause or cancel it.",
        "": "A batch is one launch of calls to models. Open one to see its progress and cost.",
    },
    "scenarios:sessions": {
        "run_batches": "Interview a model here, or record a conversation from a chat page. Write a script first, then open one.",
        "": "Interviews that were held here with models, and how much their questions directed them.",
    },
    "sob:dashboard": {
        "run_batches": "To whom models think a biased text is acceptable. Choose a cell to read its answers, or launch a batch.",
        "": "To whom models think a biased text is acceptable. Choose a cell of the heat map to read its answers.",
    },
    "gender_cues:home": {
        "run_batches": "Tests whether a model reads emotion and style as signs of gender. An owner must allow it first.",
        "": "Tests whether a model reads emotion and style as signs of gender. Figures are about groups of texts, never one text.",
    },
    "sob:report": {
        "": "All scores of one batch, with their intervals. Choose a figure to read the answers behind it.",
    },
    "exchange:exports": {
        "": "The study as files, for other programs and for papers. Choose the format next to what you want.",
    },
    "studies:members": {
        "manage_members": "Who takes part, and what each person may do. Invite people below; new people receive a link from you.",
        "": "Who takes part, and what each person may do. The roles are explained below.",
    },
}


def find_introduction(view_name: str, permissions: Container[str]) -> str:
    """The introduction that a member with these permissions sees on the page of that route; "" for none."""
    said = INTRODUCTIONS.get(view_name, {})
    return next((words for permission, words in said.items() if not permission or permission in permissions), "")

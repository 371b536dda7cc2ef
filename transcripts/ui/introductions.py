"""What a page is for and what to do there first: one line, shown to each person until she dismisses it.

A page without an entry has no such line.
"""

from __future__ import annotations

from collections.abc import Container

# By the route of the page, what to say to whom: the first whose permission one has, "" for any member.
INTRODUCTIONS: dict[str, dict[str, str]] = {
    "studies:home": {
        "": "This page shows what is done in the study, what is left, and what waits for you. Begin at the top.",
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
        "": "What is assigned to you, and how far you are. Open an interview to code it, and sign it off when you are done.",
    },
    "rounds:list": {
        "assign": "A round says who codes which interviews. Begin with “New round”; two coders for one interview can be compared.",
        "": "A round says who codes which interviews. Open one to see what is assigned and signed off.",
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
        "set_method": "What is good in a trajectory, in your words. Write a stance before anybody gives scores.",
        "": "What is good in a trajectory, in the words of those who judge. Each score names one of these stances.",
    },
    "negotiation:scores": {
        "code": "How each thread is judged under each stance. Choose “Score” beside a thread to judge it.",
        "": "How each thread is judged under each stance. Open a cell to see what its scores rest on.",
    },
    "negotiation:study": {
        "": "What models do over the turns of a talk, as one coder read it. Choose a number to see the turns that it counts.",
    },
    "annotators:annotators": {
        "run_batches": "An annotator is a model, or rules, that labels interviews. Begin with “Annotate with a model”.",
        "": "An annotator is a model, or rules, that labels interviews. Open one to see its instructions.",
    },
    "evaluation:influence": {
        "": "Whether suggestions change what people code. Figures come once coders have opened suggestions at the desk.",
    },
    "evaluation:calibration": {
        "": "How well an annotator agrees with people who coded blind. Choose one, and read the verdict before you rely on it.",
    },
    "batches:list": {
        "run_batches": "A batch is one launch of calls to models. Open one to follow it, see its cost, pause or cancel it.",
        "": "A batch is one launch of calls to models. Open one to see its progress and cost.",
    },
    "scenarios:plays": {
        "run_batches": "Interview a model here, or record a talk of a chat page. Write a script first, then open an interview.",
        "": "Interviews that were held here with models, and how much their questions directed them.",
    },
    "sob:dashboard": {
        "run_batches": "To whom models think a biased text is acceptable. Choose a cell to read its answers, or launch a batch.",
        "": "To whom models think a biased text is acceptable. Choose a cell of the heat map to read its answers.",
    },
    "gender_cues:home": {
        "run_batches": "Whether a model reads emotion and style as signs of gender. An owner allows it first.",
        "": "Whether a model reads emotion and style as signs of gender: figures of groups of texts, never of one.",
    },
    "sob:report": {
        "": "All scores of one batch, with their intervals. Choose a figure to read the answers behind it.",
    },
    "exchange:exports": {
        "": "The study as files, for other programs and for papers. Choose the format beside what you want.",
    },
    "studies:members": {
        "manage_members": "Who takes part, and what each person may do. Invite somebody below; somebody new gets a link from you.",
        "": "Who takes part, and what each person may do. What the roles mean is said below.",
    },
}


def find_introduction(view_name: str, permissions: Container[str]) -> str:
    """What somebody with these permissions reads at first on the page of that route; "" for nothing."""
    said = INTRODUCTIONS.get(view_name, {})
    return next((words for permission, words in said.items() if not permission or permission in permissions), "")

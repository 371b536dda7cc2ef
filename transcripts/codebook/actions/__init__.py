"""What is done to codebooks."""

from __future__ import annotations

from transcripts.codebook.actions.codes import (
    add_code,
    add_family,
    edit_code,
    edit_family,
    merge_codes,
    remove_family,
    rename_code,
    restore_code,
    retire_code,
    shift_code,
    shift_family,
    split_code,
)
from transcripts.codebook.actions.examples import (
    add_invented_example,
    pin_example,
    pin_in_open_draft,
    repin_example,
    unpin_example,
)
from transcripts.codebook.actions.files import ImportPlan, import_codebook, plan_import, start_study
from transcripts.codebook.actions.proposals import (
    accept_proposal,
    decline_proposal,
    list_families,
    propose_code,
    use_at_once,
)
from transcripts.codebook.actions.storing import (
    CodebookRefused,
    CodeIsGone,
    DraftIsClosed,
    DraftIsOpen,
    EditConflict,
    WrongInput,
)
from transcripts.codebook.actions.versions import (
    discard_draft,
    find_obstacles,
    publish_kept_back,
    publish_version,
    seed_codebook,
    start_draft,
    take_newer_parts,
)

__all__ = [
    "CodeIsGone",
    "CodebookRefused",
    "DraftIsClosed",
    "DraftIsOpen",
    "EditConflict",
    "ImportPlan",
    "WrongInput",
    "accept_proposal",
    "add_code",
    "add_family",
    "add_invented_example",
    "decline_proposal",
    "discard_draft",
    "edit_code",
    "edit_family",
    "find_obstacles",
    "import_codebook",
    "list_families",
    "merge_codes",
    "pin_example",
    "pin_in_open_draft",
    "plan_import",
    "propose_code",
    "publish_kept_back",
    "publish_version",
    "remove_family",
    "rename_code",
    "repin_example",
    "restore_code",
    "retire_code",
    "seed_codebook",
    "shift_code",
    "shift_family",
    "split_code",
    "start_draft",
    "start_study",
    "take_newer_parts",
    "unpin_example",
    "use_at_once",
]

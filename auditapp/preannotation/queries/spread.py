"""What several annotators said of the same sentences, code by code."""

from __future__ import annotations

from collections.abc import Sequence

from auditapp.preannotation.measures.spread import CodeLabels, CodeSpread, compare_annotators
from auditapp.preannotation.models import Annotator


def read_spread(annotators: Sequence[Annotator]) -> list[CodeSpread]:
    """Each code that any of the annotators reads for, on the sentences all of them read for it, in the order of the codebook.

    A code is the same thing across versions of the codebook by its identifier; whoever shows this says where versions
    differ.
    """
    # Loads numpy.
    from auditapp.preannotation.queries.machine_labels import read_machine_labels

    read: dict[str, dict[int, CodeLabels]] = {}
    for each in annotators:
        said = read_machine_labels(each)
        for row, code in enumerate(said.codes):
            was_read = said.was_read[row]
            if was_read.any():
                own = CodeLabels(said.sentence_ids[was_read], said.labels[row][was_read])
                read.setdefault(code, {})[each.pk] = own
    keys = [each.pk for each in annotators]
    return [compare_annotators(code, own, keys) for code, own in read.items()]

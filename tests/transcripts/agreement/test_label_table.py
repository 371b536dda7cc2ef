import numpy as np

from transcripts.agreement.pure.measuring import LabelTable, measure_agreement


def test_decisions_may_differ_from_code_to_code():
    labels = np.ones((2, 2, 2), dtype=bool)
    decided = np.ones((2, 2, 2), dtype=bool)
    decided[1, 0, 1] = False
    table = LabelTable(("anna", "ben"), ("x", "y"), labels, decided, np.arange(2))
    agreement = measure_agreement(table, seed=1, resamples=20)
    assert [code.n_units for code in agreement.codes] == [2, 1]

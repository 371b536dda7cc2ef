"""Broken files of every format are read as far as they are valid, or refused in one sentence; never anything else."""

import random

import pytest

from tests.transcripts.corpus.reader_fuzz import SEEDS, break_file, check_file, list_cuts, pack
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import ImportedFile, Interview
from transcripts.formats.interviews import FORMATS, ReadError, ReadFile, speaker_text
from transcripts.refusals import Refused

TRIES = 40
MANY_TRIES = 3_000

each_seed = pytest.mark.parametrize("name", SEEDS)


def test_every_format_that_is_recognised_is_broken():
    assert FORMATS.keys() - SEEDS.keys() == {speaker_text.WHOLE_FORMAT}


@each_seed
def test_the_files_that_are_broken_are_good(name):
    read = check_file(pack(SEEDS[name]))
    assert isinstance(read, ReadFile)
    assert not name.startswith(tuple(FORMATS)) or name.split(maxsplit=1)[0] == read.format


@each_seed
def test_a_file_cut_at_any_block(name):
    for data in list_cuts(SEEDS[name]):
        check_file(data)


@each_seed
def test_a_broken_file(name):
    break_many(name, TRIES)


@pytest.mark.full
@each_seed
def test_many_broken_files(name):
    break_many(name, MANY_TRIES)


@pytest.mark.parametrize("start", ["speaker,\rtext\n", "word " * 40_000], ids=["carriage return", "long line"])
def test_a_first_line_that_is_no_row_of_a_table(start):
    assert isinstance(check_file(f"{start}\nInterviewer: Why?\nModel: So.\n".encode()), ReadFile)


def break_many(name, tries):
    for number in range(tries):
        chance = random.Random(f"{name} {number}")
        data = break_file(SEEDS[name], chance)
        try:
            check_file(data, chance.choice(["auto", "auto", "auto", *FORMATS]))
        except Exception as error:
            error.add_note(f"try {number} of {name}: {data[:2_000]!r}")
            raise


def test_what_is_refused_leaves_nothing(study, lead):
    chance = random.Random(1)
    refused = 0
    for _ in range(60):
        data = break_file(chance.choice(list(SEEDS.values())), chance)
        before = Interview.objects.count(), ImportedFile.objects.count()
        if isinstance(check_file(data), ReadError):
            with pytest.raises(Refused):
                import_file(study=study, name="x", data=data, by=lead)
            assert (Interview.objects.count(), ImportedFile.objects.count()) == before
            refused += 1
    assert refused > 10

"""No SQL of our own goes untested on PostgreSQL by `make test`."""

from tests.support.postgres import (
    ALSO,
    EVERYWHERE,
    REACHED_THROUGH,
    choose_tests,
    find_modules_of_own_sql,
    find_own_sql,
    find_tests_that_matter,
)


def test_all_sql_of_our_own_is_reached_by_a_module_that_runs_on_postgresql():
    own_sql = find_own_sql()
    assert len(own_sql) > 10
    reached = set().union(*find_modules_of_own_sql().values()) | REACHED_THROUGH.keys() | {EVERYWHERE}
    assert own_sql - reached == set(), (
        "name a test module that reaches them in tests/support/postgres.py (REACHED_THROUGH)"
    )


def test_the_list_of_modules_reached_by_a_page_is_not_stale():
    assert REACHED_THROUGH.keys() - find_own_sql() == set()
    assert {*REACHED_THROUGH.values(), *ALSO} - set(choose_tests()) == set()


MODULE = """
from django.db import IntegrityError

class TestRows:
    def test_one_alone(self):
        with pytest.raises(IntegrityError):
            store()

    def test_two(self):
        assert store()

@pytest.mark.django_db(transaction=True)
def test_what_another_sees():
    assert look()
"""


def test_of_other_modules_the_tests_are_chosen_in_which_the_database_matters():
    assert find_tests_that_matter(MODULE) == ["test_what_another_sees", "TestRows::test_one_alone"]


HELPERS = """
commits = pytest.mark.django_db(transaction=True)

def look_apart():
    threading.Thread(target=look).start()

def look_twice():
    look_apart()

@commits
def test_what_is_committed():
    assert look()

def test_what_another_thread_sees():
    look_twice()

def test_alone():
    assert look()
"""


def test_a_helper_in_which_the_database_matters_chooses_the_tests_that_use_it():
    assert find_tests_that_matter(HELPERS) == ["test_what_is_committed", "test_what_another_thread_sees"]
    assert find_tests_that_matter(HELPERS.replace("def look_apart", "@fixture(autouse=True)\ndef look_apart")) is None


def test_a_module_is_chosen_whole_where_the_database_matters_outside_its_tests():
    assert find_tests_that_matter("pytestmark = pytest.mark.processes\n" + MODULE) is None

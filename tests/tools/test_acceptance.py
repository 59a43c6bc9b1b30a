"""The acceptance page says what the tests say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COLLECTED
from tools.acceptance import PAGE, Showing, UnusableMarker, page, showings

MARKED = '''
import pytest

@pytest.mark.acceptance("B002", "C001")
@pytest.mark.parametrize("case", [1, 2])
def test_two_rows(case):
    """Two | rows.

    More of it.
    """

@pytest.mark.acceptance("B001")
def test_one_row():
    """One row."""

def test_no_row():
    pass
'''


def collect(pytester: pytest.Pytester, source: str) -> list[pytest.Item]:
    # Without the plugin that, when a session ends, collects garbage five times: that of all tests, here.
    pytester.makeini("[pytest]\nmarkers = acceptance\naddopts = -p no:unraisableexception")
    return pytester.getitems(source)


def test_each_marked_test_is_listed_once_for_each_row(pytester: pytest.Pytester) -> None:
    module = "test_each_marked_test_is_listed_once_for_each_row.py"
    assert showings(collect(pytester, MARKED)) == [
        Showing(row="B001", test=f"{module}::test_one_row", shows="One row."),
        Showing(row="B002", test=f"{module}::test_two_rows", shows="Two | rows."),
        Showing(row="C001", test=f"{module}::test_two_rows", shows="Two | rows."),
    ]


def test_the_page_is_a_table_with_its_bars_escaped() -> None:
    text = page([Showing(row="B002", test="t.py::test_two_rows", shows="Two | rows.")])
    assert "1 rows are shown by 1 tests." in text
    assert text.endswith("| B002 | Two \\| rows. | `t.py::test_two_rows` |\n")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('@pytest.mark.acceptance("B001")\ndef test_x(): pass', "needs a docstring"),
        ('@pytest.mark.acceptance\ndef test_x(): "Shown."', "takes row ids"),
        ('@pytest.mark.acceptance("b1")\ndef test_x(): "Shown."', "not ('b1',)"),
    ],
    ids=["no docstring", "no row", "not a row"],
)
def test_a_marker_the_page_cannot_show_is_refused_by_name(pytester: pytest.Pytester, source: str, problem: str) -> None:
    with pytest.raises(UnusableMarker, match=r"::test_x: .*") as refusal:
        showings(collect(pytester, f"import pytest\n{source}"))
    assert problem in str(refusal.value)


def test_the_page_in_docs_is_current(repository: Path, pytestconfig: pytest.Config) -> None:
    items = pytestconfig.stash[COLLECTED]
    if {item.path for item in items} >= set((repository / "tests").rglob("test_*.py")):
        assert page(showings(items)) == PAGE.read_text(), "run `make acceptance`"
        return
    check = subprocess.run(
        [sys.executable, "-m", "tools.acceptance", "--check"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stderr

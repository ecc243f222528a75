"""The workbook: what it tells, and what it cannot hold."""

from zipfile import ZipFile

import numpy as np
import pytest
from openpyxl import load_workbook

import discreet as dc
from discreet.errors import DataError
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.printing.xlsx import save_xlsx
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def release(codes, values, decimals=0):
    sides = (Dimension.flat("area", codes),)
    figures = summed(sides, np.array(values, np.int64))
    printed = PublishedTable((CrossTable(sides, figures, "pay", decimals),), (np.zeros(figures.shape, bool),))
    recipe = dc.Recipe("by hand", {"tables": printed.structure()})
    return dc.Release(printed.rows(), dc.Statement("respondent"), recipe)


def test_a_workbook_does_not_say_when_it_was_made(tmp_path):
    path = save_xlsx(release(["a", "b"], [1, 2]), tmp_path / "t.xlsx")
    about = load_workbook(path).properties
    assert about.created.year == about.modified.year == 1980
    with ZipFile(path) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    again = save_xlsx(release(["a", "b"], [1, 2]), tmp_path / "again.xlsx")
    assert path.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(("decimals", "text"), [(0, "9007199254740993"), (2, "90071992547409.93")])
def test_figures_of_more_digits_than_a_spreadsheet_keeps_are_text(tmp_path, decimals, text):
    path = save_xlsx(release(["a", "b"], [2**53 + 1, 7], decimals), tmp_path / "t.xlsx")
    row = [cell.value for cell in load_workbook(path)["Table 1"][2]]
    assert row[1] == text
    assert row[2] == 7 / 10**decimals


def test_a_code_with_control_characters_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(DataError, match="control characters"):
        save_xlsx(release(["a\x0b", "b"], [1, 2]), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())

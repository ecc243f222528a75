"""Tables of figures from files."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tabulate.municipality import COUNTS, SALARIES, SIDES

from discreet.core.card import Card, Column
from discreet.core.hierarchy import Taxonomy
from discreet.core.kind import Kind
from discreet.errors import BadInput, DataError, DiscreetError, NotFound
from discreet.verbs.tabulate.printing.holder import exposed
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import parse_rules
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.read_table import read_table


def lines(figures=SALARIES, *, inner_only=False):
    """The municipality table, a line a cell, without its header."""
    for i, row in enumerate(SIDES[0].codes):
        for j, column in enumerate(SIDES[1].codes):
            if not inner_only or (i and j):
                told = {(1, 1): 200, (2, 3): "", (3, 5): 350}.get((i, j), 50) if i and j else ""
                yield f"{row},{column},{figures[i, j]},{COUNTS[i, j]},{told}"


def written(folder, rows, header="municipality,profession,value,count,largest_1"):
    file = folder / "table.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def test_the_municipalities_and_the_three_attacks(tmp_path):
    table = read_table(written(tmp_path, lines()))
    assert table.shape == (4, 6)
    assert np.array_equal(table.values, SALARIES)
    assert np.array_equal(table.contributions.counts, COUNTS)
    cells = Cells.of(table)
    found = exposed(cells, protect(cells, parse_rules("min=3; n=1,k=0.9")))
    assert [(cells.name(one.cell), one.attack) for one in found] == [
        ("M1, P1", "internal"),
        ("M1, P1", "internal"),
        ("M2, P3", "external"),
        ("M3, P5", "dominance"),
    ]


def test_a_table_that_does_not_add_up_is_reported(tmp_path):
    wrong = SALARIES.copy()
    wrong[2, 2] -= 1
    with pytest.raises(DataError) as refused:
        read_table(written(tmp_path, lines(wrong)))
    said = str(refused.value)
    assert "in 2 places" in said
    assert "\n  Total, P2 (over municipality): 2,168 is given, its parts add up to 2,167" in said
    assert "\n  M2, Total (over profession): 2,892 is given, its parts add up to 2,891" in said


def test_only_ten_places_are_listed(tmp_path):
    rows = ["t,value", "Total,1", *(f"{code}{part},0" for code in "abcdefghijkl" for part in (1, 2))]
    rows += [f"{code},1" for code in "abcdefghijkl"]
    parents = {f"{code}{part}": code for code in "abcdefghijkl" for part in (1, 2)}
    with pytest.raises(DataError, match=r"in 13 places:(.*\n){11}  and 3 more"):
        read_table(written(tmp_path, rows[1:], rows[0]), parents={"t": parents})


def test_totals_that_are_not_there_are_added_up(tmp_path):
    table = read_table(written(tmp_path, lines(inner_only=True)))
    assert np.array_equal(table.values[table.cell("M2", "Total") // 6], SALARIES[2][[0, *range(1, 6)]])
    assert table.values[0, 0] == 8620
    assert table.contributions.counts[0, 0] == 346
    assert table.contributions.largest[0, 0, 0] == 350


def test_inner_cells_that_are_not_there_are_0_if_their_totals_agree(tmp_path):
    rows = ["a,x,3", "a,Total,3", "b,x,1", "b,y,2", "b,Total,3", "Total,x,4", "Total,y,2", "Total,Total,6"]
    table = read_table(written(tmp_path, rows, "r,c,value"))
    assert table.values[table.dimensions[0].places["a"], table.dimensions[1].places["y"]] == 0
    with pytest.raises(DataError, match=r"b, Total \(over c\): 3 is given, its parts \(1 of them not in the table\)"):
        read_table(written(tmp_path, [row for row in rows if row != "b,y,2"], "r,c,value"))


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_figures_are_exact(tmp_path, form):
    texts = ["0.1", "0.2", "90071992547409.93", "90071992547410.23"]
    if form == "csv":
        source = written(
            tmp_path, [f"{code},{text}" for code, text in zip(["a", "b", "c", "Total"], texts, strict=True)], "r,value"
        )
    else:
        numbers = pa.array(map(Decimal, texts), pa.decimal128(38, 4))
        source = pa.table({"r": ["a", "b", "c", "Total"], "value": numbers})
        if form == "parquet":
            pq.write_table(source, tmp_path / "table.parquet")
            source = tmp_path / "table.parquet"
    table = read_table(source)
    assert table.decimals == 2
    assert table.values.tolist() == [9007199254741023, 10, 20, 9007199254740993]


def test_doubles_are_what_they_are_written_as():
    table = read_table(pa.table({"r": ["a", "b", "Total"], "value": [0.1, 0.2, 0.3]}))
    assert (table.decimals, table.values.tolist()) == (1, [3, 1, 2])


NESTED = ["01,5", "02,6", "A,11", "03,7", "B,7", "AB,18", "C,2", "Total,20"]
PARENTS = {"01": "A", "02": "A", "03": "B", "A": "AB", "B": "AB", "AB": None, "C": None}


def by_mapping(_):
    return {"parents": {"r": PARENTS}}


def by_file(folder):
    file = folder / "parents.csv"
    file.write_text("".join(f"{code};{parent or 'Total'}\n" for code, parent in PARENTS.items()))
    return {"parents": {"r": file}}


def by_card(_):
    tree = {"AB": {"A": ["01", "02"], "B": ["03"]}, "C": []}
    return {"card": Card("t", (Column("r", Kind.TEXT, hierarchy=Taxonomy.from_tree(tree)),))}


@pytest.mark.parametrize("told", [by_mapping, by_file, by_card])
def test_hierarchies_are_told(tmp_path, told):
    table = read_table(written(tmp_path, NESTED, "r,value"), **told(tmp_path))
    side = table.dimensions[0]
    above = {code: side.codes[parent] for code, parent in zip(side.codes, side.parents, strict=True) if parent >= 0}
    assert above == {"01": "A", "02": "A", "03": "B", "A": "AB", "B": "AB", "AB": "Total", "C": "Total"}
    assert not len(Cells.of(table).broken())


def test_totals_of_a_hierarchy_that_are_not_there_are_added_up_unless_they_repeat_a_part(tmp_path):
    inner = [row for row in NESTED if row[0] == "0" or row[0] == "C"]
    table = read_table(written(tmp_path, inner, "r,value"), parents={"r": PARENTS})
    found = dict(zip(table.dimensions[0].codes, table.values.tolist(), strict=True))
    assert found == {"Total": 20, "AB": 18, "A": 11, "01": 5, "02": 6, "03": 7, "C": 2}


def test_what_was_rounded_one_by_one_is_added_up_anew_only_if_asked_for(tmp_path):
    file = written(tmp_path, ["a,1", "b,1", "c,1", "Total,5"], "r,value")  # 1.4 + 1.4 + 1.4 = 4.2, or 4.5 at most
    with pytest.raises(DataError, match="5 is given"):
        read_table(file)
    assert read_table(file, rounded=True).values.tolist() == [3, 1, 1, 1]
    with pytest.raises(DataError, match="6 is given"):
        read_table(written(tmp_path, ["a,1", "b,1", "c,1", "Total,6"], "r,value"), rounded=True)


def test_a_table_of_counts(tmp_path):
    table = read_table(written(tmp_path, ["a,1", "b,4"], "r,count"), total="all")
    assert table.what == ""
    assert table.dimensions[0].codes == ("all", "a", "b")
    assert table.values.tolist() == table.contributions.counts.tolist() == [5, 1, 4]
    assert (table.contributions.sole >= 0).tolist() == [False, True, False]


def test_columns_are_told_by_name(tmp_path):
    file = written(tmp_path, ["a,x,5,2,3,7", "b,x,1,1,1,7"], "r,c,money,firms,top,note")
    table = read_table(file, ["r"], "money", count="firms", largest=["top"])
    assert table.what == "money"
    assert table.contributions.largest.tolist() == [[3], [3], [1]]


@pytest.mark.parametrize(
    ("header", "rows", "told", "said"),
    [
        ("r,value", ["a,1", "a,2"], {}, "The cell a occurs twice"),
        ("r,value", ["a,1", ",2"], {}, "Row 2 has no code in r"),
        ("r,value", ["a,1", "b,"], {}, "Row 2 has nothing in value"),
        ("r,value", ["a,1", "b,n/a"], {}, "Row 2 has 'n/a' in value"),
        ("r,value", ["a,NaN"], {}, "where a number is expected"),
        ("r,value", ["a,99999999999999999999"], {}, "more digits than 64 bits"),
        ("r,value", ["a,1", "b,0.0000000000000000001"], {}, "more digits than 64 bits"),
        ("r,money", ["a,1"], {}, "unclear which column has the figures"),
        ("r,money", ["a,1"], {"value": "mony"}, "did you mean 'money'"),
        ("r,value", ["a,1"], {"by": "r"}, "lists of columns"),
        ("r,value", ["a,1"], {"parents": {"q": {}}}, "'q' is not a dimension"),
        ("r,value", ["a1,1", "c,1"], {"parents": {"r": {"a1": "a"}}}, "'c' has no parent"),
        ("r,value", ["a,1", "b,1"], {"parents": {"r": {"a": "b", "b": "a"}}}, "cycle of totals"),
        ("r,count", ["a,1.5"], {}, "whole numbers"),
        ("r,count", ["a,-1"], {}, "whole numbers"),
        ("r,value,largest_1", ["a,1,1"], {}, "without the number of respondents"),
        ("r,value", ["a,1", "TOTAL,1"], {}, "'TOTAL' looks like the total"),
        ("r,value", ["a,1", "b,2", "All,3"], {}, "'All' looks like the total"),
        ("r,s,value", ["a,x,1", "b,x,2", "T,x,3", "a,y,4", "b,y,0", "T,y,4"], {}, "'T' looks like the total"),
        ("r,s,value", ["a,x,1", "b,x,2", "T,x,4", "a,y,4", "b,y,0", "T,y,4"], {"rounded": True}, "'T' looks like"),
        ("r,s,value", ["a,x,1", "b,x,2", "a,y,4", "b,y,0", "Sum,Sum,7"], {}, "'Sum' looks like the total"),
        ("r,value", ["a,1", "Sum,1"], {"total": {"q": "Sum"}}, "'q' is not a dimension"),
        ("r,value,count,largest_1", ["a,5,1,4"], {}, "a is inconsistent: .* too small for its figure"),
        ("r,value,count,largest_1", ["a,5,1,6"], {}, "a is inconsistent: .* more than its figure"),
        ("r,value,count,largest_1", ["a,100,3,10"], {}, "too small for its figure"),
        ("r,value,count,largest_1,largest_2", ["a,10,4,8,3"], {}, "more than its figure"),
        ("r,value,count,largest_1,largest_2", ["a,10,1,10,3"], {}, "more contributions than respondents"),
        ("r,value,count,largest_1,largest_2", ["a,10,2,,3"], {}, "have a gap"),
        ("r,value,count", ["a,10,0"], {}, "no respondents, but a figure"),
        ("r,value,count,absolute", ["a,-10,3,9"], {}, "below its figure"),
        ("hidden,value", ["a,10"], {}, "may have the name 'hidden'"),
        ("r,n,value", ["a,1,10"], {"by": ["r", "n"], "value": "n"}, "may have the name 'n'"),
        ("r,value,count,largest_1,largest_2", ["a,5,2,1,4"], {}, "do not fall"),
        ("value", ["1"], {}, "needs one or more columns"),
    ],
)
def test_what_is_no_table(tmp_path, header, rows, told, said):
    with pytest.raises(DiscreetError, match=said) as refused:
        read_table(written(tmp_path, rows, header), **told)
    assert isinstance(refused.value, BadInput | DataError | NotFound)


def test_absolute_contributions_may_cancel_out(tmp_path):
    table = read_table(written(tmp_path, ["a,-10,3,10", "b,4,2,12"], "r,value,count,absolute"))
    assert table.contributions.absolute.tolist() == [22, 10, 12]
    assert read_table(written(tmp_path, ["a,-10,3", "b,4,2"], "r,value,count")).values.tolist() == [-6, -10, 4]


def test_a_total_is_called_what_it_is_called_on_each_side(tmp_path):
    rows = ["a,x,1", "b,x,2", "Sum,x,3", "a,All,1", "b,All,2", "Sum,All,3"]
    table = read_table(written(tmp_path, rows, "r,s,value"), total={"r": "Sum", "s": "All"})
    assert [side.codes[0] for side in table.dimensions] == ["Sum", "All"]
    parts = read_table(
        written(tmp_path, ["a,1", "b,2", "All,3"], "r,value"), parents={"r": dict.fromkeys(["a", "b", "All"])}
    )
    assert parts.values.tolist() == [6, 1, 2, 3]


def test_two_parts_may_be_alike(tmp_path):
    assert read_table(written(tmp_path, ["a,x,1", "b,x,1", "a,y,2", "b,y,2"], "r,s,value")).values[0, 0] == 6


def test_what_is_not_told_is_not_safe(tmp_path):
    rows = ["a,900,1,,", "b,100,5,30,20", "c,100,2,60,40", "d,100,9,30,", "Total,1200,17,,"]
    cells = Cells.of(read_table(written(tmp_path, rows, "r,value,count,largest_1,largest_2")))
    found = protect(cells, parse_rules("n=1,k=0.7"))
    assert {cells.name(cell) for cell in found.reasons} == {"a", "Total"}  # the total follows from its parts
    with pytest.raises(BadInput, match=r"needs the 2 largest contributions to each cell; unknown for 2 cells: .*d"):
        protect(cells, parse_rules("p=10"))


def test_decimals_are_those_of_the_values_and_contributions_are_rounded_up(tmp_path):
    table = read_table(written(tmp_path, ["a,10,2,9.125", "b,20,3,10.5", "c,30,9,5"], "r,value,count,largest_1"))
    assert table.decimals == 0
    assert table.values.tolist() == [60, 10, 20, 30]
    assert table.contributions.largest.ravel().tolist() == [11, 10, 11, 5]


def test_linked_files_at_two_levels_share_what_a_single_part_stands_for(tmp_path):
    tree = {"n1": "North", "n2": "North", "s3": "Hills", "North": None, "Hills": None}
    fine = read_table(written(tmp_path, ["n1,1", "n2,2", "s3,4"], "r,value"), parents={"r": tree})
    coarse = read_table(written(tmp_path, ["North,3", "Hills,4"], "r,value"))
    assert len(Cells.of(fine, coarse)) == len(fine.dimensions[0])


def test_figures_that_nobody_named_do_not_become_codes():
    table = pa.table({"a": ["A", "A", "B", "B"], "b": ["X", "Y", "X", "Y"], "val": [5, 2, 3, 3], "count": [1, 5, 5, 5]})
    with pytest.raises(BadInput, match="val could be the values or a dimension"):
        read_table(table)
    assert read_table(table, value="val").what == "val"
    assert len(read_table(table, by=["a", "b", "val"]).dimensions) == 3

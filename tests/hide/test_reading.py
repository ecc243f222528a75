from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.errors import BadInput, DataError, NotFound
from discreet.samples import cases
from discreet.verbs.hide.mining.frequent import frequent
from discreet.verbs.hide.mining.partition import frequent_in_blocks
from discreet.verbs.hide.reading import blocks_of, read_transactions, tabular, write_transactions
from discreet.verbs.hide.transactions import Transactions

LECTURE = Transactions.of(["abcd", "abc", "acd"])


def same(one: Transactions, other: Transactions) -> bool:
    return [sorted(row) for row in one.to_rows()] == [sorted(row) for row in other.to_rows()]


@pytest.mark.parametrize("name", ["b.csv", "b.tsv", "b.dat", "b.parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    held = Transactions.of([("ale", "wine"), (), ("ale",)])
    write_transactions(held, tmp_path / name)
    assert read_transactions(tmp_path / name) == held


def test_baskets_with_quotes_and_blanks(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text('red wine, "ham, smoked"\n"ham, smoked",,\n', encoding="utf-8")
    held = read_transactions(tmp_path / "b.csv")
    assert held.support(["red wine"]) == 1
    write_transactions(held, tmp_path / "again.csv")
    assert read_transactions(tmp_path / "again.csv") == held
    with pytest.raises(BadInput, match=r"'.* .*' cannot be told apart"):
        write_transactions(held, tmp_path / "b.dat")


@pytest.mark.parametrize("name", ["b.csv", "b.tsv"])
def test_no_item_is_a_formula_and_all_are_read_again(tmp_path: Path, name: str) -> None:
    held = Transactions.of([["=1+1", "@x", "-5"], ["'=1+1", "''@x", "'tis", "=1+1"], ["+a, b", "-b", "＝1"]])
    write_transactions(held, tmp_path / name)
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert not re.search(r"(^|[,\t\n])\"?([=+@＝]|-b)", written)
    assert same(read_transactions(tmp_path / name), held)
    blocks = list(blocks_of(tmp_path / name, 2)())
    assert [row for block in blocks for row in block.to_rows()] == list(read_transactions(tmp_path / name).to_rows())


def test_hidden_baskets_hold_no_formula(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("=1+1,@x,a\n" * 3 + "@x,-c\n" * 3, encoding="utf-8")
    clean = tmp_path / "clean.csv"
    release = dc.hide(tmp_path / "b.csv", itemsets=[["=1+1", "@x"]], support=2, baskets=clean)
    items = {item for row in release.payload.column(0).to_pylist() for item in row}
    cells = {cell for line in clean.read_text("utf-8").split() for cell in line.split(",")}
    assert cells <= {"'=1+1", "'@x", "a", "'-c"}
    assert {"@x", "-c"} <= items == set(read_transactions(clean).items)


def test_pairs_of_a_file_and_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "who,what\nT1,a\nT2,a\nT1,b\nT1,c\nT2,b\nT1,d\nT2,c\nT3,a\nT3,c\nT3,d\n", encoding="utf-8"
    )
    assert same(read_transactions(tmp_path / "p.csv", layout="pairs"), LECTURE)
    assert same(read_transactions(tmp_path / "p.csv", layout="pairs", columns=("who", "what")), LECTURE)
    assert same(read_transactions(cases.transactions()), LECTURE)
    with pytest.raises(NotFound, match="no column 'wo'"):
        read_transactions(tmp_path / "p.csv", layout="pairs", columns=("wo", "what"))
    with pytest.raises(BadInput, match="two columns"):
        read_transactions(tmp_path / "p.csv", layout="pairs", columns=("who",))


def test_a_table_and_back() -> None:
    data = pa.table({"sex": ["f", "m", None], "owner": [True, False, True], "note": ["x", "y", "z"]})
    read = tabular(data, columns=("sex", "owner"))
    assert list(read.transactions.to_rows()) == [("sex=f", "owner"), ("sex=m",), ("owner",)]
    assert read.back(read.transactions) == data.select(["sex", "owner"]), "no other column comes back"
    after = read.transactions.changed([(0, "sex=f"), (0, "owner")], [(0, "sex=m"), (2, "sex=f")])
    changed = read.back(after)
    assert changed["sex"].to_pylist() == ["m", "m", "f"]
    assert changed["owner"].to_pylist() == [False, False, True]
    assert read.back(after, unknown=True)["owner"].to_pylist() == [None, False, True]
    with pytest.raises(BadInput, match="another value"):
        read.back(read.transactions.changed((), [(0, "sex=m")]))


def test_items_of_a_table_have_names_of_their_own() -> None:
    data = pa.table({"a": ["x"], "b": ["y"]})
    with pytest.raises(BadInput, match="'a' is named twice"):
        tabular(data, columns=["a", "b", "a"])
    with pytest.raises(BadInput, match="both give an item 'x=1'"):
        tabular(pa.table({"x=1": [True], "x": [1]}))
    with pytest.raises(BadInput, match="both give an item 'a=b=c'"):
        tabular(pa.table({"a": ["b=c"], "a=b": ["c"]}))
    with pytest.raises(DataError, match="Two columns are called 'a'"):
        tabular(pa.table([["x"], ["y"]], names=["a", "a"]), columns=["a"])


def test_nothing_is_written_over_zero_or_an_empty_text() -> None:
    read = tabular(pa.table({"n": [0, 1, None], "t": ["", "x", "x"]}))
    for item in ("n=1", "t=x"):
        with pytest.raises(BadInput, match="another value"):
            read.back(read.transactions.changed((), [(0, item)]))
    assert read.back(read.transactions.changed((), [(2, "n=0")]))["n"].to_pylist() == [0, 1, 0]


def test_nan_is_missing() -> None:
    assert tabular(pa.table({"n": [1.0, float("nan")]})).transactions.items == ("n=1.0",)


def test_a_mark_of_byte_order_is_no_part_of_an_item(tmp_path: Path) -> None:
    for name, text in (("b.csv", "a,b\n"), ("b.dat", "a b\n")):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert read_transactions(tmp_path / name).items == ("a", "b")


def test_baskets_beside_other_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [1, 2], "what": [["a", "b"], ["b"]]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="'what' holds lists"):
        read_transactions(tmp_path / "b.parquet")
    held = read_transactions(tmp_path / "b.parquet", columns=("what",))
    assert list(held.to_rows()) == [("a", "b"), ("b",)]
    assert [block.rows for block in blocks_of(tmp_path / "b.parquet", 1, columns=("what",))()] == [1, 1]
    (tmp_path / "b.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(BadInput, match="Baskets have no columns"):
        read_transactions(tmp_path / "b.csv", layout="baskets", columns=("a",))


def test_rows_without_a_transaction_are_refused() -> None:
    columns = (dc.Column("who", "text", "identifier"), dc.Column("what", "text"))
    table = dc.read(pa.table({"who": ["1", None], "what": ["a", "b"]}), dc.Card("t", columns, unit="who"))
    with pytest.raises(DataError, match="1 row has no transaction"):
        read_transactions(table)


@pytest.mark.parametrize("item", ["", "a "])
def test_what_would_be_read_as_another_item_is_not_written(tmp_path: Path, item: str) -> None:
    held = Transactions.of([[item]])
    with pytest.raises(BadInput, match="not be read back from"):
        write_transactions(held, tmp_path / "b.csv")
    write_transactions(held, tmp_path / "b.parquet")
    assert read_transactions(tmp_path / "b.parquet") == held


def test_tables_with_a_card_leave_identifiers_out() -> None:
    held = read_transactions(cases.inpatient(), columns=("nationality", "condition"))
    assert held.support(["nationality=American", "condition=Viral"]) == 3
    assert held.rows == 12


def test_several_columns_of_a_unit_are_one_transaction() -> None:
    data = cases.transactions()
    held = read_transactions(data, columns=("transaction", "item"))
    assert held.support(["transaction=T2", "item=a"]) == 1
    assert held.rows == 3


@pytest.mark.parametrize("name", ["t.parquet", "b.csv", "b.parquet"])
def test_blocks_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.startswith("t"):
        pq.write_table(pa.table({"sex": ["f", "m"] * 50, "age": ["old"] * 70 + ["young"] * 30}), path)
    else:
        write_transactions(Transactions.of(["ab", "bc", "abc", "c"] * 25), path)
    whole = read_transactions(path)
    assert sum(block.rows for block in blocks_of(path, 30)()) == whole.rows == 100
    assert frequent_in_blocks(blocks_of(path, 30), 0.3).as_dict() == frequent(whole, 30).as_dict()


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        read_transactions(tmp_path / "none.csv")
    with pytest.raises(NotFound, match="There is no file"):
        read_transactions(tmp_path / "none.csv", layout="baskets")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe,a\n")
    with pytest.raises(DataError, match="not text with one transaction per line"):
        read_transactions(tmp_path / "bad.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="is not Parquet"):
        read_transactions(tmp_path / "bad.parquet")
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "n.parquet")
    with pytest.raises(DataError, match="one column of lists"):
        read_transactions(tmp_path / "n.parquet", layout="baskets")
    with pytest.raises(BadInput, match="too many to be items"):
        tabular(pa.table({"n": list(range(2_000))}))
    with pytest.raises(BadInput, match="at least one transaction"):
        blocks_of(tmp_path / "bad.csv", 0)
    with pytest.raises(BadInput, match="cannot be read in blocks"):
        blocks_of(tmp_path / "bad.csv", 9, columns=("a",))


def test_a_blank_before_a_name_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text('bread, "wine, red"\n', encoding="utf-8")
    assert list(read_transactions(tmp_path / "b.csv").to_rows()) == [("bread", "wine, red")]


@pytest.mark.parametrize("name", ["b.txt", "b.csv", "b.dat", "b.tsv"])
@pytest.mark.parametrize(
    "text",
    ["bread, wine\nwine, ale\n", "bread,wine\nwine,ale", "bread;wine\nwine;ale\n", "bread | wine\r\nwine | ale\r\n"],
)
def test_items_are_read_as_the_file_is_written(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert [*read_transactions(tmp_path / name).to_rows()] == [("bread", "wine"), ("ale", "wine")]
    assert [*blocks_of(tmp_path / name, 1)()][1].items == ("ale", "wine")


@pytest.mark.parametrize(
    ("name", "text", "items"),
    [
        ("b.txt", "bread wine\nale\n", ("ale", "bread", "wine")),
        ("b.txt", "bread\twine \t ale\n", ("ale", "bread", "wine")),
        ("b.txt", "red wine, white wine\nale\n", ("ale", "red wine", "white wine")),
        ("b.txt", '"ham, smoked", ale\n', ("ale", "ham, smoked")),
        ("b.csv", '"salt; fine",ale\n', ("ale", "salt; fine")),
        ("b.csv", '"red wine"\nale\n', ("ale", "red wine")),
        ("b.tsv", "salt, fine\tale\n", ("ale", "salt, fine")),
        ("b.csv", "", ()),
    ],
)
def test_blanks_and_quotes_are_items_where_they_can_be(
    tmp_path: Path, name: str, text: str, items: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_transactions(tmp_path / name).items == items


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b.txt", "bread, wine; ale\n"),
        ("b.csv", "1,5;2,5\n"),
        ("b.csv", "bread wine\nale milk\n"),
        ("b.txt", "red wine\tale\n"),
        ("b.txt", "a 1,000 b\n"),
        ("b.txt", '"red wine" ale\n'),
    ],
)
def test_what_items_there_are_is_not_guessed(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="are ambiguous: it has"):
        read_transactions(tmp_path / name)


def test_a_secret_is_hidden_in_a_text_with_commas(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("bread, wine, ale\nbread, wine\nwine, bread\nale\n", encoding="utf-8")
    clean = dc.hide(tmp_path / "b.txt", support=2, itemsets=["bread, wine"])
    assert Transactions.of(clean.payload["items"].to_pylist()).support({"bread", "wine"}) < 2


@pytest.mark.parametrize("name", ["b.csv", "b.tsv"])
def test_items_that_look_like_several_are_read_again(tmp_path: Path, name: str) -> None:
    held = Transactions.of([("salt; fine", "red wine"), ("a|b",), ("a,b", "c")])
    write_transactions(held, tmp_path / name)
    assert read_transactions(tmp_path / name) == held
    with pytest.raises(BadInput, match="cannot be told apart"):
        write_transactions(Transactions.of([("a,b",)]), tmp_path / "b.txt")

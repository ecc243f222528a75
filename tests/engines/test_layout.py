"""How a text file is laid out, found by evidence."""

import pytest

from discreet.core.text_format import FileLayout
from discreet.engines.layout import detect_layout
from discreet.engines.text_files import ROW, open_text, places

WORDS = {
    "windows-1252": "Name;Straße;Größe\nMüller;Königsallee;1,5\nÖzil;Bäckerweg;2,5\n",
    "utf-16": "Name;Straße;Größe\nMüller;Königsallee;1,5\nÖzil;Bäckerweg;2,5\n",
    "utf-16-le": "Name;Straße;Größe\nMüller;Königsallee;1,5\nÖzil;Bäckerweg;2,5\n",
    "iso-8859-15": "prix;nom;ville\n10 €;Hélène;Nîmes\n12 €;Noël;Orléans\n",
    "windows-1250": "imię;miasto;n\nŁukasz;Wąsosz;1\nMałgorzata;Zamość Śląski;2\n",
    "iso-8859-2": "imię;miasto;n\nŁukasz;Wąsosz;1\nMałgorzata;Zamość Śląski;2\n",
    "windows-1251": "имя;город;n\nИван;Москва;1\nОльга;Казань;2\n",
    "cp850": "by;land;n\nGöteborg;Ærø;1\nMålmö;Blåbær;2\n",
    "mac-roman": "by;land;n\nGöteborg;Ærø;1\nMålmö;Blåbær;2\n",
}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def texts(path, layout=None):
    layout = layout or detect_layout(path)
    engine, relation, names = open_text(path, layout)
    rows = engine.fetch(relation).to_pylist()
    assert all([*row] == [*names, ROW] for row in rows)
    return [tuple(row[name] for name in names) for row in rows], places(path, layout, [row[ROW] for row in rows])


@pytest.mark.parametrize("encoding", WORDS)
def test_an_encoding_is_told_by_what_it_makes_of_words(tmp_path, encoding):
    path = write(tmp_path, "p.csv", WORDS[encoding].encode(encoding))
    layout = detect_layout(path)
    assert (layout.encoding, layout.delimiter) == (encoding, ";")
    lines = WORDS[encoding].splitlines()
    assert texts(path, layout)[0] == [tuple(line.split(";")) for line in lines[1:]]


@pytest.mark.parametrize(
    ("name", "content", "layout"),
    [
        ("p.csv", "a,b\n1,2\n", FileLayout()),
        ("p.csv", "\ufeffa\tb\n1\t2\n", FileLayout(delimiter="\t")),
        ("p.csv", "a;b\n1,5;2,5\n2,5;3,5\n", FileLayout(delimiter=";")),
        (
            "p.csv",
            "Report of 2024\nfor the board, in draft\n\na;b;c\n1;2;3\n4;5;6\n",
            FileLayout(delimiter=";", header=4),
        ),
        ("p.csv", "1,2020-01-01\n2,2020-01-02\n", FileLayout(header=0)),
        ("p.csv", "a;b\n'x;y';'1'\n'z';'2'\n", FileLayout(delimiter=";", quote="'")),
        ("p.fwf", "id  name   born\n 1  Anna   2020\n22  Bo B.  2021\n", FileLayout(widths=(4, 7, 4))),
        ("p.txt", "id  name   born\n 1  Anna   2020\n22  Bo B.  2021\n", FileLayout(widths=(4, 7, 4))),
    ],
)
def test_a_layout_declares_what_is_not_as_by_default(tmp_path, name, content, layout):
    assert detect_layout(write(tmp_path, name, content)) == layout


def test_rows_are_found_on_their_own_lines(tmp_path):
    path = write(tmp_path, "p.csv", 'title\n"a",b\n1,"two\nlines"\n\n3,4\n')
    rows, where = texts(path, FileLayout(header=2))
    assert rows == [("1", "two\nlines"), ("3", "4")]
    assert where == {1: "line 3", 2: "line 6"}
    assert texts(path, FileLayout(header=2, skip=1)) == ([("3", "4")], {1: "line 6"})


def test_fixed_widths_are_cut_and_what_is_beyond_them_is_an_error(tmp_path):
    path = write(tmp_path, "p.fwf", "id name\n 1 Özil \n\n22 Bo\n")
    rows, where = texts(path, FileLayout(widths=(3, 5)))
    assert rows == [("1", "Özil"), ("22", "Bo")]
    assert where == {1: "line 2", 2: "line 4"}
    with pytest.raises(Exception, match=r"p\.fwf, line 1: 7 characters, more than the 6"):
        texts(path, FileLayout(widths=(3, 3)))

import datetime as dt
import tomllib
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from discreet.core import toml

TEXT = """# a comment = not a key
[tables.a]
unit = "id"
note = '''
[not.a.header]
x = 1
'''

[tables."b.c".columns]
age = { kind = "integer", bounds = [
  0, # low
  110,
] }
"odd key".kind = "text"
"""


def test_every_key_is_found_on_its_line():
    lines = toml.lines_of(TEXT)
    assert lines["tables", "a"] == 2
    assert lines["tables", "a", "unit"] == 3
    assert lines["tables", "a", "note"] == 4
    assert lines["tables", "b.c", "columns"] == 9
    assert lines["tables", "b.c", "columns", "age", "bounds"] == 10
    assert lines["tables", "b.c", "columns", "odd key", "kind"] == 14
    assert ("not", "a", "header") not in lines
    assert not any("x" in path for path in lines)


_scalars = (
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), _values, max_size=4))
def test_what_is_written_reads_back_the_same(data):
    back = tomllib.loads(toml.dump(data))
    assert back == data
    assert list(back) == list(data)


def test_decimals_keep_their_digits_and_comments_stand_above_their_key():
    text = toml.dump({"a": {"b": Decimal("1.50")}, "c": None}, {("a",): ["why a"], ("a", "b"): ["why b"]})
    assert text == "# why a\n[a]\n# why b\nb = 1.50\n"

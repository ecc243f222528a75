"""``df.discreet`` on data frames of pandas and polars."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import BadInput, NotFound

ROWS = {
    "zip": ["13000"] * 6 + ["13001"] * 6,
    "sex": ["f", "m"] * 6,
    "disease": ["flu", "none", "heart"] * 4,
}
KNOWN = ["zip", "sex"]
CARD = dc.Card(
    "people",
    (
        dc.Column("zip", dc.Kind.TEXT, dc.Role.QUASI),
        dc.Column("sex", dc.Kind.TEXT, dc.Role.OTHER),
        dc.Column("disease", dc.Kind.TEXT, dc.Role.SENSITIVE),
    ),
)
FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame(ROWS), pl.DataFrame(ROWS)], ids=["pandas", "polars"])


@FRAMES
def test_a_frame_is_checked_on_the_columns_that_are_named(frame):
    found = frame.discreet.check("k=3", "l=3 on disease", quasi=KNOWN)
    assert found.holds
    assert found.quasi == ("zip", "sex")
    assert not frame.discreet.check("k=4", quasi=KNOWN).holds
    assert frame.discreet.check(dc.KAnonymity(6), quasi=["zip"]).holds
    assert "quasi: zip, sex" in found.assumes[-1]


@FRAMES
def test_a_card_says_the_same_as_for_a_table(frame):
    found = frame.discreet.check("k=6", card=CARD)
    assert found == dc.check(dc.read(frame, CARD), dc.KAnonymity(6))
    with pytest.raises(BadInput, match="The card says which"):
        frame.discreet.check("k=6", card=CARD, quasi=KNOWN)


def test_without_either_what_is_unclear_counts_as_known_to_outsiders():
    frame = pd.DataFrame(ROWS | {"qqx": [3.25, 4.5] * 6})
    found = frame.discreet.check("k=5")
    assert not found.holds
    assert {"zip", "sex", "qqx"} <= set(found.quasi)
    assert "No card was given: roles are guessed" in str(found)


def test_rows_that_were_picked_have_no_column_more_and_a_named_index_is_one():
    frame = pd.DataFrame(ROWS)
    assert frame[frame.sex == "f"].discreet.check("k=3", quasi=KNOWN).holds
    assert frame.set_index("zip").discreet.check("k=3", quasi=KNOWN).holds


def test_a_column_that_is_not_there_and_a_model_that_is_none_are_errors():
    frame = pd.DataFrame(ROWS)
    with pytest.raises(NotFound, match="There is no column nope"):
        frame.discreet.check("k=3", quasi=["nope"])
    with pytest.raises(BadInput, match="no privacy model"):
        frame.discreet.check("q", quasi=KNOWN)


@pytest.mark.parametrize("frames", ["pandas", "polars"])
@pytest.mark.parametrize(
    "code",
    [
        "import discreet; import {0}",
        "import {0}; import discreet",
        "import discreet, importlib.util; assert importlib.util.find_spec('{0}'); import {0}",
        "import discreet; from {0} import DataFrame; import {0}",
    ],
)
def test_frames_have_it_whichever_is_imported_first_and_nothing_else_is_loaded(frames, code):
    code = f"import sys; {code.format(frames)}; assert {frames}.DataFrame.discreet; assert 'duckdb' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_nothing_is_imported_that_nobody_asked_for():
    code = "import sys, discreet; assert not {'pandas', 'polars', 'IPython'} & set(sys.modules)"
    code += "; import json.tool; assert not {'pandas', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

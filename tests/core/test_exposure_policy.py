"""The policy of joint exposure: what it may say, and how it is told what is wrong."""

from fractions import Fraction

import pytest

from discreet.core.card import ExposurePolicy
from discreet.errors import BadInput


def test_what_is_left_out_is_as_by_default():
    policy = ExposurePolicy.from_dict({"share": 0.2, "values": {"ill": ["cancer"]}, "override": []})
    assert (policy.smallest_group, policy.share, policy.override) == (3, Fraction(1, 5), ())
    assert ExposurePolicy.from_dict({}) == ExposurePolicy()
    assert policy == ExposurePolicy.from_dict(policy.to_dict())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("refuse", "is a table"),
        ({"smallest_grop": 3}, "did you mean 'smallest_group'"),
        ({"despite": "so"}, "has no field 'despite'"),
        ({"smallest_group": 0}, "at least 1"),
        ({"smallest_group": True}, "at least 1"),
        ({"values": ["cancer"]}, "by column"),
        ({"values": {"ill": "cancer"}}, "by column"),
        ({"share": 0}, "above 0"),
        ({"share": "much"}, "must be a number"),
        ({"undecided": "maybe"}, "refuse or warn"),
        ({"seconds": 0}, "above 0"),
        ({"seconds": "soon"}, "above 0"),
        ({"override": "steward"}, "lists roles"),
        ({"override": ["boss"]}, "lists roles"),
    ],
)
def test_what_is_wrong_is_said(data, said):
    with pytest.raises(BadInput, match=said):
        ExposurePolicy.from_dict(data)

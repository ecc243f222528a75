import pytest

from discreet.errors import BadInput, NotFound
from discreet.verbs.combine.net.keys import Identity, certificate, fingerprint, public_bytes, public_text, read_public


def test_a_key_is_saved_for_its_owner_alone_and_never_overwritten(tmp_path):
    north = Identity.new("north")
    path = north.save(tmp_path)
    assert path.name == "north.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert Identity.load(path) == north
    assert read_public(tmp_path / "north.pub") == ("north", north.public)
    assert north.private.hex() not in repr(north)
    with pytest.raises(BadInput, match="exists"):
        Identity.new("north").save(tmp_path)
    assert Identity.load(path) == north


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path = Identity.new("north").save(tmp_path)
    path.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        Identity.load(path)


def test_what_is_no_key_is_said(tmp_path):
    (tmp_path / "north.key").write_text("hello")
    (tmp_path / "north.key").chmod(0o600)
    with pytest.raises(BadInput, match="not a key"):
        Identity.load(tmp_path / "north.key")
    with pytest.raises(NotFound, match="combine keys south"):
        Identity.load(tmp_path / "south.key")
    (tmp_path / "north.pub").write_text("north")
    with pytest.raises(BadInput, match="a name and a public key"):
        read_public(tmp_path / "north.pub")
    with pytest.raises(NotFound, match=r"Ask south for the file south\.pub"):
        read_public(tmp_path / "south.pub")


@pytest.mark.parametrize("name", ["", "North", "1north", "north/..", "n" * 41, "nörth"])
def test_names_are_plain(name):
    with pytest.raises(BadInput, match="small letters"):
        Identity.new(name)


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:AAAA", "rsa:" + "A" * 44, "ed25519:" + "*" * 44])
def test_a_public_key_is_32_bytes_in_one_form(text):
    with pytest.raises(BadInput, match="not a public key"):
        public_bytes(text)


def test_a_fingerprint_can_be_read_out():
    text = public_text(bytes(range(32)))
    assert fingerprint(text) == "630d cd29 66c4 3366 9112 5448 bbb2 5b4f"


def test_everybody_makes_the_same_certificate():
    north = Identity.new("north")
    assert certificate.__wrapped__("north", north.public) == certificate.__wrapped__("north", north.public)
    assert certificate("north", north.public) != certificate("south", north.public)

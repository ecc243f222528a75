"""The pictures of the docs are those that `make screenshots` takes, and no page is without one."""

from tools.screenshots import FOLDER, Made, looks, shots

from discreet.service.console.frame import pages

SHOTS = shots(Made("published", "tabulated", "survey"))


def test_every_picture_has_its_place_in_the_script():
    assert {path.name for path in FOLDER.iterdir()} == {name for shot in SHOTS for name in looks(shot)}


def test_every_page_has_a_picture():
    pictured = {shot.path.partition("?")[0] for shot in SHOTS}
    assert {page.path for page in pages() if page.order is not None} <= pictured

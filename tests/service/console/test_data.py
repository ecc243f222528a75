"""The Data page: a file becomes a table, its card is edited, a hierarchy previewed, and a card revised."""

from tests.service.console.conftest import press, seen, text, until

from discreet.core.card import Role
from discreet.service.console.hierarchy_editor import _tree, summary

ROWS = "zip,age,sex,illness\n" + "".join(
    f"130{n % 40:02},{20 + n % 50},{'fm'[n % 2]},{'flu' if n % 3 else 'cancer'}\n" for n in range(200)
)


async def uploaded(desk, who, name, content):
    async def chunks():
        yield content

    return await desk.data.upload(who, name, chunks())


def fill(user, **values):
    with user:
        for testid, value in values.items():
            seen(user, testid.replace("_", "-"))[-1].set_value(value)


def test_a_file_becomes_a_table_with_its_own_card_and_budget(console):
    desk, steward = console.clinic.desk, console.clinic.steward

    async def act(user):
        source = await uploaded(desk, steward, "../new patients.csv", ROWS.encode())
        assert "/" not in source
        await user.open("/data")
        with user:
            seen(user, "data-address")[0].set_value(source)
        press(user, "data-connect")
        await until(lambda: bool(seen(user, "role-age")))
        assert "This card is a guess" in text(user)
        fill(
            user,
            **{
                f"role-{name}": role
                for name, role in (("zip", "quasi"), ("age", "quasi"), ("sex", "quasi"), ("illness", "sensitive"))
            },
        )
        with user:
            for name, low, high in (("age", "100", "0"), ("age", "0", "60")):
                for place, value in (("low", low), ("high", high)):
                    box = seen(user, f"{place}-{name}")[-1]
                    box.set_value(value)
                    for listener in box._event_listeners.values():
                        if listener.type == "change":
                            box._handle_event({"listener_id": listener.id, "args": {}})
                if low == "100":
                    assert "not below the upper bound" in text(user)
        assert "not below the upper bound" not in text(user)
        press(user, "data-fit")
        await until(lambda: "outside the declared bounds" in text(user))
        fill(user, data_name="patients2", data_epsilon="1", data_delta="0")
        press(user, "data-add")
        await until(lambda: bool(seen(user, "sure-go")))
        press(user, "sure-go")
        await until(lambda: bool(seen(user, "data-done")))

    console.visit("steward", act)
    desk.workspace.refresh()
    card = desk.workspace.full_card("patients2")
    assert [column.role for column in card.columns] == [Role.QUASI] * 3 + [Role.SENSITIVE]
    assert card["age"].bounds == (0, 60)
    assert [str(view.budget) for view in desk.budgets.accounts(steward) if view.account == "patients2"]


def test_the_levels_of_a_hierarchy_are_shown_with_their_sizes_and_the_card_revised(console):
    desk = console.clinic.desk
    before = desk.workspace.tables["patients"].version

    async def act(user):
        await user.open("/data?table=patients")
        await until(lambda: bool(seen(user, "hierarchy-zip")))
        press(user, "hierarchy-zip")
        await until(lambda: bool(seen(user, "hierarchy-type")))
        with user:
            seen(user, "hierarchy-type")[-1].set_value("mask")
            seen(user, "hierarchy-length")[-1].set_value("5")
            seen(user, "hierarchy-steps")[-1].set_value("2; 9")
        press(user, "hierarchy-show")
        await until(lambda: bool(seen(user, "hierarchy-wrong")[-1].text))
        with user:
            seen(user, "hierarchy-steps")[-1].set_value("2; 4")
        press(user, "hierarchy-show")
        await until(lambda: "***" in text(user))
        press(user, "hierarchy-save")
        await until(lambda: not seen(user, "hierarchy-save"))
        press(user, "data-revise")
        await until(lambda: bool(seen(user, "sure-go")))
        assert "columns.zip.hierarchy.steps" in text(user)
        press(user, "sure-go")
        await until(lambda: "version 2" in text(user))

    console.visit("steward", act)
    assert desk.workspace.tables["patients"].version == before + 1


def test_groups_are_written_in_lines_and_an_arx_hierarchy_is_taken():
    assert _tree("Europe: France; Spain\n\nAsia: Japan") == {"Europe": ["France", "Spain"], "Asia": ["Japan"]}
    assert summary(None).startswith("No hierarchy")
    assert "levels 0 to 2" in summary({"type": "taxonomy", "tree": {"Europe": ["France"]}})


def test_analysts_and_auditors_have_no_such_page(console):
    async def act(user):
        await user.open("/data")
        assert "Your role may not open this page" in text(user)

    console.visit("ann", act)


def test_the_name_of_a_column_is_no_program(console):
    """A prop that begins with a colon is run by the browser: whoever wrote a file must not be able to set one."""
    desk, steward = console.clinic.desk, console.clinic.steward
    names = ("age :onfocus=[steal()] x=", "zip\" :style='steal()' \"", "sex\\ :class=[steal()] \\")

    async def act(user):
        head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
        source = await uploaded(desk, steward, "hostile.csv", f"{head}\n1,2,3\n4,5,6\n".encode())
        await user.open("/data")
        with user:
            seen(user, "data-address")[0].set_value(source)
        press(user, "data-connect")
        await until(lambda: all(seen(user, f"column-{name}") and seen(user, f"role-{name}") for name in names))
        press(user, f"hierarchy-{names[0]}")
        await until(lambda: bool(seen(user, "hierarchy-save")))
        programs = {key for one in user.client.elements.values() for key in one.props if key.startswith(":")}
        assert programs <= {":url", ":headers", ":rules", ":options"}

    console.visit("steward", act)

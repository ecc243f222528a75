"""A workspace copied and restored as a person does it."""

from tests.curator.clinics import COUNT, clinic


def test_a_workspace_is_copied_and_restored(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    asked = ("ask", "clinic", COUNT, "--epsilon", "0.5")
    command(*asked)
    assert "1 answer, each with its charge" in command("workspace", "backup", "clinic", "clinic.tar")
    assert "already exists" in command("workspace", "backup", "clinic", "clinic.tar", code=1)
    assert "forgotten" in command("workspace", "restore", "clinic.tar", "again", code=3)
    said = command("workspace", "restore", "clinic.tar", "again", "--receipts", "clinic/releases")
    assert "Never use the original workspace again" in said
    assert "Answered before" in command("ask", "again", COUNT, "--epsilon", "0.5")
    assert "lower the limits" not in said
    assert "lower the limits" in command("workspace", "restore", "clinic.tar", "third", "--yes-spent-is-forgotten")
    (tmp_path / "other.tar").write_text("no tar")
    assert "other.tar is not a backup of a workspace." in command("workspace", "restore", "other.tar", "fourth", code=1)
    assert "all valid" in command("budget", "verify", "third")

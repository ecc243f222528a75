"""What the service can be told: from where, which goes first, and that the documentation has all of it."""

import json
import re
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest
import typer

from discreet.budget.filter import Budget
from discreet.cli.main import app
from discreet.core.loss import Pure
from discreet.errors import BadInput, NotFound
from discreet.service.configuration import FILE, KEYS, PREFIX, configured
from discreet.service.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "serve.md"


def test_every_setting_has_one_key_and_a_row_in_the_documentation():
    assert sorted(key.setting for key in KEYS) == sorted(one.name for one in fields(Settings))
    text = DOCS.read_text()
    rows = [
        tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for line in text.splitlines()
        if re.match(rf"\| `\w+` \| `{PREFIX}", line)
    ]
    assert rows == [(key.name, key.variable, key.option, key.default, key.says) for key in KEYS]
    assert FILE in text


def test_every_option_is_one_of_the_command():
    command = typer.main.get_command(app).commands["serve"]
    options = {flag for parameter in command.params for flag in parameter.opts}
    assert {key.option for key in KEYS if key.option} <= options


def test_a_variable_goes_before_the_file_and_an_option_before_both(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text('port = 1001\nrate = 7\nnames = ["a.example"]\ngrace = 3\n')
    environment = {f"{PREFIX}PORT": "1002", f"{PREFIX}RATE": "0.5", f"{PREFIX}THREADS": "", "PATH": "/bin"}
    assert configured(None, {}, {}) == Settings()
    assert configured(file, {}, {}) == Settings(port=1001, rate=7, names=("a.example",), grace=3)
    found = configured(file, environment, {"port": 1003, "names": None})
    assert found == Settings(port=1003, rate=0.5, names=("a.example",), grace=3)
    assert configured(None, {**environment, FILE: str(file)}, {}) == Settings(
        port=1002, rate=0.5, names=("a.example",), grace=3
    )
    assert configured(file, {FILE: str(tmp_path / "none.toml")}, {}).port == 1001


EXAMPLES = {
    "host": ("::1", "::1"),
    "names": ("a.example, b.example", ["a.example", "b.example"]),
    "insecure": ("yes", True),
    "behind_proxy": ("TRUE", True),
    "local_metrics": ("0", False),
    "mcp": ("epsilon=0.5", "epsilon=0.5"),
    "postgres_cap": ("epsilon=0.5", "epsilon=0.5"),
    "rate": ("0.25", 0.25),
    "threads": ("100", 100),
    "request_bytes": ("5000", 5000),
    "oidc_scopes": ("openid, groups", ["openid", "groups"]),
    "oidc_name_claim": ("email", "email"),
    "oidc_domains": ("a.example", ["a.example"]),
    "oidc_groups_claim": ("roles", "roles"),
    "oidc_create": ("no", False),
}


def test_every_setting_is_read_from_a_variable_as_from_the_file(tmp_path):
    for key in KEYS:
        if key.name in ("cert", "key", "oidc_issuer", "oidc_client", "oidc_secret"):  # which need each other
            continue
        if key.name in ("oidc_stewards", "oidc_analysts", "oidc_auditors"):
            continue
        text, value = EXAMPLES.get(key.name, ("5", 5))
        file = tmp_path / f"{key.name}.toml"
        file.write_text(f"{key.name} = {json.dumps(value)}\n")
        found = configured(file, {}, {})
        assert configured(None, {key.variable: text}, {}) == found, key.name
        expected = {
            "mcp": Budget(Pure("0.5")),
            "names": ("a.example", "b.example"),
            "oidc_scopes": ("openid", "groups"),
            "oidc_domains": ("a.example",),
            "postgres_cap": Fraction(1, 2),
        }.get(key.name, value)
        assert getattr(found, key.setting) == expected, key.name


def test_paths_begin_at_the_folder_of_their_file(tmp_path, monkeypatch):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "serve.toml").write_text('cert = "cert.pem"\nkey = "/keys/key.pem"\n')
    monkeypatch.chdir(tmp_path)
    found = configured(Path("etc/serve.toml"), {}, {})
    assert (found.cert, found.key) == (tmp_path / "etc" / "cert.pem", Path("/keys/key.pem"))
    environment = {f"{PREFIX}CERT": "cert.pem", f"{PREFIX}KEY": "key.pem"}
    assert configured(None, environment, {}).cert == Path("cert.pem")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rates = 5", "there is no setting 'rates' (did you mean 'rate'?)"),
        ("rate = 'much'", "rate must be a number above 0"),
        ("rate = 0", "rate must be a number above 0"),
        ("rate = nan", "rate must be a number above 0"),
        ("rate = true", "rate must be a number above 0"),
        ("burst = 1.5", "burst must be a whole number from 1"),
        ("burst = true", "burst must be a whole number from 1"),
        ("port = -1", "port must be a whole number from 0"),
        ("names = 'a.example'", "names must be a list of texts"),
        ("insecure = 1", "insecure must be true or false"),
        ("host = 1", "host must be a text"),
        ("mcp = 'much'", "mcp: 'much' is not a budget"),
        ("cert = 5", "cert must be the path of a file"),
        ("rate 5", "is not a TOML file"),
        ("[limits]\nrate = 5", "there is no setting 'limits'"),
        ("questions = 80", "no thread for anything else"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path, text, said):
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        configured(file, {}, {})
    assert said in str(caught.value)


def test_a_variable_that_is_wrong_says_so():
    with pytest.raises(BadInput, match=r"no variable DISCREET_SERVE_RATES \(did you mean 'DISCREET_SERVE_RATE'\?\)"):
        configured(None, {f"{PREFIX}RATES": "5"}, {})
    with pytest.raises(BadInput, match="DISCREET_SERVE_RATE must be a number above 0"):
        configured(None, {f"{PREFIX}RATE": "much"}, {})
    with pytest.raises(BadInput, match="DISCREET_SERVE_INSECURE must be true or false"):
        configured(None, {f"{PREFIX}INSECURE": "perhaps"}, {})
    with pytest.raises(NotFound, match="cannot be read"):
        configured(Path("none.toml"), {}, {})


def test_the_provider_of_the_documentation_is_whole(tmp_path):
    [text] = re.findall(r'```toml title="oidc.toml"\n(.*?)```', DOCS.read_text(), re.DOTALL)
    (tmp_path / "oidc.toml").write_text(text)
    found = configured(tmp_path / "oidc.toml", {f"{PREFIX}OIDC_STEWARDS": "a, b"}, {})
    assert found.oidc_stewards == ("a", "b") and found.oidc_analysts == ("research", "clinical-research")
    assert found.oidc_secret == Path("/etc/discreet/oidc-secret")

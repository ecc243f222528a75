"""nginx as docs/serve.md has it, in front of the service: TLS, names, cookies and the console's websocket."""

from __future__ import annotations

import base64
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.engines.parts import require_part
from tests.service.certificates import certificate
from tests.service.conftest import new_workspace, password_of

from discreet.service.api.caller import COOKIE

ROOT = Path(__file__).parents[2]
NAME = "data.example.org"
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        {location}
    }}
}}
"""
"""The least around the page's ``location``; everything it writes lies in the folder."""


def on_the_page():
    """What the page says of nginx, and the command that it has for the service behind a proxy."""
    text = (ROOT / "docs" / "serve.md").read_text()
    location = re.search(r"```text\n(location / \{.*?)```", text, re.DOTALL)[1]
    command = re.search(r"```text\ndiscreet (serve clinic .*--behind-proxy.*)\n```", text)[1]
    return location, command.split()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(command, log):
    """A process that is ended with the block."""
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def handshake(port, trusted, path, cookies, origin):
    """The status line of an attempt to open a websocket."""
    key = base64.b64encode(bytes(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {NAME}:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        f"Origin: {origin}",
        f"Cookie: {'; '.join(f'{name}={value}' for name, value in cookies.items())}",
    ]
    with (
        socket.create_connection(("127.0.0.1", port), 60) as plain,
        trusted.wrap_socket(plain, server_hostname=NAME) as end,
    ):
        end.sendall("\r\n".join([*lines, "", ""]).encode())
        with end.makefile("rb") as answer:
            return answer.readline().decode().strip()


@pytest.mark.slow
def test_the_service_behind_nginx_as_documented(tmp_path):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    require_part(nginx, "nginx", "install nginx-light, or nginx, for the test of the service behind it")
    location, words = on_the_page()
    tokens = new_workspace(tmp_path / "clinic")
    cert, key = certificate(tmp_path / "pair", names=(NAME,))
    inner, outer = free_port(), free_port()
    assert "http://127.0.0.1:8640;" in location
    location = location.replace("127.0.0.1:8640", f"127.0.0.1:{inner}")
    conf = tmp_path / "nginx.conf"
    conf.write_text(NGINX.format(folder=tmp_path, port=outer, cert=cert, key=key, location=location))
    words = [str(tmp_path / "clinic") if word == "clinic" else word for word in words]
    serve = [sys.executable, "-m", "discreet.cli", *words, "--port", str(inner)]
    trusted = ssl.create_default_context(cafile=cert)
    said = tmp_path / "log"
    with (
        running(serve, said) as service,
        running([nginx, "-c", str(conf), "-p", str(tmp_path)], tmp_path / "nginx.log") as proxy,
        httpx.Client(
            base_url=f"https://127.0.0.1:{outer}",
            headers={"Host": f"{NAME}:{outer}"},
            verify=trusted,
            timeout=60,
            trust_env=False,
        ) as http,
    ):
        end = time.monotonic() + 300
        while not _ready(http):
            assert service.poll() is None and proxy.poll() is None and time.monotonic() < end, said.read_text()
            time.sleep(0.2)

        asked = {"questions": ["SELECT COUNT(*) AS n FROM patients"], "epsilon": "0.1"}
        answer = http.post("/v1/ask", json=asked, headers={"Authorization": f"Bearer {tokens['ann']}"})
        assert answer.status_code == 200, said.read_text()

        signed = http.post("/v1/session", json={"name": "ann", "password": password_of("ann")})
        assert signed.status_code == 200
        cookie = signed.headers["Set-Cookie"]
        assert "Secure" in cookie and "HttpOnly" in cookie
        assert http.get("/v1/live", headers={"Host": "elsewhere.example.org"}).status_code == 421

        large = b"person,age\n" + b"1,30\n" * 400_000
        steward = {"Authorization": f"Bearer {tokens['steward']}"}
        sent = http.post("/v1/data/uploads", params={"name": "large.csv"}, content=large, headers=steward)
        assert sent.status_code == 201, sent.text
        assert [path for path in (tmp_path / "body").rglob("*") if path.is_file()] == [], "rows stay in the workspace"

        page = http.get("/", follow_redirects=True)
        assert page.status_code == 200 and page.url.scheme == "https" and "discreet" in page.text
        cookies = {COOKIE: http.cookies[COOKIE]}
        path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        assert handshake(outer, trusted, path, cookies, f"https://{NAME}:{outer}") == "HTTP/1.1 101 Switching Protocols"
        assert " 403 " in handshake(outer, trusted, path, cookies, "https://elsewhere.example.org")
    assert "Traceback" not in said.read_text()


def _ready(http):
    try:
        return http.get("/v1/health").status_code == 200
    except httpx.HTTPError:
        return False

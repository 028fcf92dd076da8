"""Attack: another user of the machine connects to `bridle watch` with its token, from the arguments of the browser.

Arguments of processes can be read by all users, and a browser that is started with the link has the token in them. The
server asks the kernel to which user the other end of a connection belongs.

With the sandbox: the same; another user is outside of it.
Without: refused on Linux, for reading and acting; the user and root are answered.
Reported: to that user, as status 403.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.views.web.fixtures.watch_server import watching

NOBODY = 65534
CLIENT = """
import http.client, sys
port, token = sys.argv[1:]
for method, path in (("GET", "/api/board"), ("GET", "/?token=" + token), ("POST", "/api/actions")):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    headers = {"Authorization": "Bearer " + token, "Origin": "http://127.0.0.1:" + port}
    headers["Content-Type"] = "application/json"
    connection.request(method, path, body="{}" if method == "POST" else None, headers=headers)
    print(connection.getresponse().status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked on Linux only")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_refused(tmp_path: Path) -> None:
    with watching(tmp_path) as server:
        command = ["/usr/bin/env", "python3", "-I", "-c", CLIENT, str(server.port), server.token]
        statuses = [
            subprocess.run(command, user=user, cwd="/", capture_output=True, text=True).stdout.split()
            for user in (NOBODY, os.geteuid())
        ]
    assert statuses == [["403"] * 3, ["200", "200", "400"]]

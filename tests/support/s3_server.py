"""An S3 server on loopback: moto, which checks signatures, permissions and conditional writes.

It answers one request at a time, so that a check and its write are one step. It keeps its objects
in a folder, so a server that was killed and started again has everything that it confirmed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.support.ports import kept_port

BUCKET = "chats"
USERS = {
    "AKIAWRITER0000000000": "s3:*",
    "AKIAREADER0000000000": ["s3:Get*", "s3:List*"],
    "AKIAKEEPER0000000000": ["s3:Get*", "s3:List*", "s3:Put*"],
}
"""The ids of the keys and their permissions."""
SECRET = "0123456789/of+the+test/0123456789ABCDEFG"
ACCOUNT = "123456789012"


def require_server() -> None:
    """Skip the test without the server's packages; fail instead when CI_REQUIRE_S3 is 1."""
    lacking = [name for name in ("moto", "flask", "obstore") if not importlib.util.find_spec(name)]
    if lacking:
        reason = f"No S3 server: {', '.join(lacking)} is not installed (the extra test has it)."
        if os.environ.get("CI_REQUIRE_S3") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


class S3Server:
    """A server with its folder. After `kill` and `start` its port and objects are the same."""

    scheme = "s3"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self._stack = ExitStack()
        self._process: subprocess.Popen[str] | None = None

    def start(self, dies_at: int = 0, stage: int = 0) -> None:
        """Start the server and wait until it answers. It is killed in request number `dies_at` at
        `stage`: 0 before any work, 1 before the change is saved, 2 before the answer, 3 in the
        middle of the answer.
        """
        self.folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.support.s3_server", str(self.folder)]
        self._process = subprocess.Popen(
            [*command, str(self.port), str(dies_at), str(stage)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        assert int(self._process.stdout.readline()) == self.port

    @property
    def is_dead(self) -> bool:
        """Return True when the server was killed or never started."""
        return self._process is None or self._process.poll() is not None

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> S3Server:
        self.port = self._stack.enter_context(kept_port())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._stack.close()

    def environment(self, user: int = 0, secret: str = SECRET) -> dict[str, str]:
        """Return the environment variables that a program needs to use the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": [*USERS][user],
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": "us-east-1",
        }

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Return the objects whose keys begin with `prefix`, by the rest of their keys."""
        keys = {path: unquote(path.name) for path in self.folder.iterdir()}
        return {
            key.removeprefix(prefix): path.read_bytes()
            for path, key in keys.items()
            if key.startswith(prefix) and not key.startswith(".")
        }


def _add_users() -> None:
    from moto.iam.models import iam_backends

    users = iam_backends[ACCOUNT]["aws"]
    for identity, actions in USERS.items():
        users.create_user("us-east-1", identity)
        key = users.create_access_key(identity)
        del users.access_keys[key.physical_resource_id]
        key.access_key_id, key.secret_access_key = identity, SECRET
        users.access_keys[identity] = key
        statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        users.put_user_policy(identity, "policy", json.dumps(policy))


class _KeptStore:
    """The application: moto's, except that each change is in a folder before it is answered."""

    def __init__(self, folder: Path, dies_at: int, stage: int) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from moto.s3.models import s3_backends

        self._folder, self._death = folder, (dies_at, stage)
        self._application = DomainDispatcherApplication(create_backend_app)
        self._store, self._number = s3_backends[ACCOUNT]["aws"], 0
        self._store.create_bucket(BUCKET, "us-east-1")
        for path in folder.iterdir():
            if not path.name.startswith("."):
                self._store.put_object(BUCKET, unquote(path.name), path.read_bytes())

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        statuses: list[str] = []
        self._number += 1
        self._reach(0)

        def begin(status: str, *rest: Any) -> Any:
            statuses.append(status)
            return start_response(status, *rest)

        body = [*self._application(environ, begin)]
        self._reach(1)
        if statuses[0].startswith("2"):
            self._keep(environ)
        self._reach(2)
        if self._death == (self._number, 3):
            yield from (part[: len(part) // 2] for part in body[:1])
        self._reach(3)
        yield from body

    def _reach(self, stage: int) -> None:
        if self._death == (self._number, stage):
            os.kill(os.getpid(), signal.SIGKILL)

    def _keep(self, environ: dict[str, Any]) -> None:
        _, bucket, key = [*environ["PATH_INFO"].split("/", 2), "", ""][:3]
        if bucket == BUCKET and environ["REQUEST_METHOD"] == "PUT" and key:
            content = self._store.get_object(BUCKET, key)
            assert content is not None
            path = self._folder / quote(key, safe="")
            temporary = self._folder / f".{path.name[:200]}"
            temporary.write_bytes(content.value)
            temporary.replace(path)
        elif environ["REQUEST_METHOD"] in ("DELETE", "POST"):  # a POST deletes several objects
            for path in self._folder.iterdir():
                if self._store.get_object(BUCKET, unquote(path.name)) is None:
                    path.unlink()


def _serve(folder: Path, port: int, dies_at: int, stage: int) -> None:
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"  # every request is checked
    from werkzeug.serving import make_server

    _add_users()
    server = make_server("127.0.0.1", port, _KeptStore(folder, dies_at, stage), threaded=False)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), *map(int, sys.argv[2:]))

"""Users, passwords and roles."""

import base64
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest

from stoker.registry.http.application import application
from stoker.registry.http.authentication import UsersFileUnusable, read_users
from tests.registry.http.schemas import V1
from tests.registry.http.served import Api, served
from tests.registry.http.users import basic, password_hash
from tests.registry.memory_service import MemoryService

LONG = "p" * 80


@pytest.fixture(scope="module")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    lines = [
        "# who may ask",
        "",
        f"ann:{password_hash('secret', b'2y')}",
        f"bob:{password_hash('secret', b'2b')},read",
        f"zoë:{password_hash('pass:wörd', b'2a')}",
        f"long:{password_hash(LONG)}",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def api(users_file: Path) -> Iterator[Api]:
    with served(auth_file=users_file) as url, Api(url) as api:
        yield api


@pytest.mark.parametrize(
    ("user", "password"), [("ann", "secret"), ("bob", "secret"), ("zoë", "pass:wörd"), ("long", LONG)]
)
def test_who_has_the_password_is_let_in(api: Api, user: str, password: str) -> None:
    for _ in range(2):
        assert api("GET", "/subjects", headers=basic(user, password))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic("ann", "wrong"),
        basic("ann", ""),
        basic("nobody", "secret"),
        basic("", "secret"),
        {"Authorization": "Basic"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic " + base64.b64encode(b"ann").decode()},
        {"Authorization": "Basic " + base64.b64encode(b"\xff\xff:secret").decode()},
        {"Authorization": "Bearer secret"},
    ],
)
def test_all_others_are_not(api: Api, headers: dict[str, str]) -> None:
    for method, path in (
        ("GET", "/subjects"),
        ("GET", "/nothing"),
        ("DELETE", "/subjects/a"),
        ("GET", "/openapi.json"),
    ):
        reply = api.raw(method, path, headers=headers)
        assert (reply.status_code, reply.json()) == (401, {"error_code": 401, "message": "Unauthorized"})
        assert reply.headers["www-authenticate"] == 'Basic realm="SchemaRegistry"'


def test_health_is_told_to_all(api: Api) -> None:
    assert api("GET", "/_health")[0] == 200


def test_who_may_only_read_may_ask_all_questions(api: Api) -> None:
    ann, bob = basic("ann", "secret"), basic("bob", "secret")
    assert api("POST", "/subjects/a/versions", {"schema": V1}, ann)[0] == 200
    for method, path, body in (
        ("GET", "/subjects/a/versions/1", None),
        ("POST", "/subjects/a", {"schema": V1}),
        ("POST", "/compatibility/subjects/a/versions", {"schema": V1}),
    ):
        assert api(method, path, body, bob)[0] == 200
    for method, path, body in (
        ("POST", "/subjects/a/versions", {"schema": V1}),
        ("DELETE", "/subjects/a", None),
        ("DELETE", "/subjects/a/versions/1", None),
        ("PUT", "/config", {"compatibility": "NONE"}),
        ("DELETE", "/mode/a", None),
    ):
        assert api(method, path, body, bob) == (403, {"error_code": 40301, "message": "User 'bob' may only read"})


def test_a_password_is_checked_by_bcrypt_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes bcrypt a tenth of a second and more."""
    checks: list[bytes] = []
    check = bcrypt.checkpw

    def counted(password: bytes, hashed: bytes) -> bool:
        checks.append(password)
        return check(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", counted)
    path = tmp_path / "users"
    path.write_text(f"ann:{password_hash('secret')}\n")
    with served(auth_file=path) as url, Api(url, basic("ann", "secret")) as api:
        for _ in range(20):
            assert api("GET", "/subjects")[0] == 200
    assert len(checks) == 1


def test_others_are_answered_while_a_password_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"ann:{password_hash('secret', rounds=12)}\n")
    with served(auth_file=path) as url:
        done = threading.Event()

        def log_in() -> None:
            with Api(url, basic("ann", "wrong")) as other:
                assert other("GET", "/subjects")[0] == 401
            done.set()

        thread = threading.Thread(target=log_in)
        thread.start()
        answered = 0
        with Api(url) as api:
            while not done.is_set():
                assert api("GET", "/_health")[0] == 200
                answered += 1
        thread.join()
        assert answered > 3


def test_the_file_is_read_again_when_it_changes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "users"
    ann, bob = basic("ann", "secret"), basic("bob", "secret")

    def write(text: str, second: int) -> None:
        path.write_text(text)
        os.utime(path, (second, second))

    write(f"ann:{password_hash('secret')}", 1)
    with served(auth_file=path) as url, Api(url) as api, caplog.at_level(logging.WARNING):
        assert api("GET", "/subjects", headers=ann)[0] == 200
        assert api("GET", "/subjects", headers=bob)[0] == 401
        write(f"bob:{password_hash('secret')}", 2)
        assert api("GET", "/subjects", headers=ann)[0] == 401
        assert api("GET", "/subjects", headers=bob)[0] == 200
        write("nonsense", 3)
        assert api("GET", "/subjects", headers=bob)[0] == 200, "what it said before"
        assert "line 1" in caplog.text
        path.unlink()
        assert api("GET", "/subjects", headers=bob)[0] == 200
        write(f"ann:{password_hash('other')}", 4)
        assert api("GET", "/subjects", headers=ann)[0] == 401
        assert api("GET", "/subjects", headers=basic("ann", "other"))[0] == 200


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann", "line 1: it must be user:hash"),
        ("ann:plain", "htpasswd -B"),
        ("ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=", "htpasswd -B"),
        (f":{password_hash('x')}", "line 1: it must be user:hash"),
        (f"ann:{password_hash('x')},admin", "the role 'admin' is not known"),
        (f"ann:{password_hash('x')}\nann:{password_hash('y')}", "line 2: the user 'ann' is there twice"),
    ],
    ids=["no hash", "plain", "SHA", "no user", "unknown role", "twice"],  # a salt is another in each process of a run
)
def test_files_that_cannot_be_used(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "users"
    path.write_text(line)
    with pytest.raises(UsersFileUnusable) as refused:
        application(MemoryService(), auth_file=path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsersFileUnusable, match="No such file"):
        read_users(tmp_path / "nothing")


def test_who_guesses_keeps_nobody_else_out(tmp_path: Path) -> None:
    """Checking a password takes long, so they wait in line; a right one that finds the line full may come again."""
    path = tmp_path / "users"
    path.write_text(f"ann:{password_hash('secret', rounds=8)}\nbob:{password_hash('secret')}\n")
    with served(auth_file=path) as url:
        statuses: list[int] = []

        def guess(number: int) -> None:
            with Api(url) as guesser:
                statuses.append(guesser("GET", "/subjects", headers=basic("ann", f"guess-{number}"))[0])

        guessers = [threading.Thread(target=guess, args=(number,)) for number in range(60)]
        for each in guessers:
            each.start()
        while 429 not in statuses:  # the line is full
            time.sleep(0.001)
        with Api(url) as bob:
            assert bob("GET", "/subjects", headers=basic("bob", "secret"))[0] == 200
        for each in guessers:
            each.join()
        assert set(statuses) == {401, 429}

"""What client and broker say in a login, by the examples of the RFCs and by brokers that are not who they should be."""

from collections.abc import Callable

import pytest

from stoker.client.sasl import Exchange, NotBelieved, exchange
from stoker.client.security import Login

NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="  # RFC 7677
SIGNATURE = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def begun(draw_nonce: Callable[[int], str] = lambda _: NONCE, *, username: str = "user") -> tuple[Exchange, bytes]:
    messages = exchange(Login(mechanism="SCRAM-SHA-256", username=username, password="pencil"), draw_nonce)
    return messages, next(messages)


def test_plain_is_as_in_rfc_4616() -> None:
    messages = exchange(Login(mechanism="PLAIN", username="tim", password="tanstaaftanstaaf"))
    assert next(messages) == b"\0tim\0tanstaaftanstaaf"
    with pytest.raises(StopIteration):
        messages.send(b"")


def test_scram_is_as_in_rfc_7677() -> None:
    messages, first = begun()
    assert first == f"n,,n=user,r={NONCE}".encode()
    assert messages.send(CHALLENGE.encode()) == PROOF.encode()
    with pytest.raises(StopIteration):
        messages.send(SIGNATURE.encode())


def test_a_name_may_have_what_parts_the_fields() -> None:
    _, first = begun(username="ann,of=sales")
    assert first == f"n,,n=ann=2Cof=3Dsales,r={NONCE}".encode()


def test_nonces_are_drawn() -> None:
    login = Login(mechanism="SCRAM-SHA-512", username="user", password="pencil")
    one, other = next(exchange(login)), next(exchange(login))
    assert one != other
    assert len(one) > len("n,,n=user,r=") + 24


@pytest.mark.parametrize(
    ("challenge", "complaint"),
    [
        (CHALLENGE.replace(NONCE, "another"), "none of SCRAM"),
        (CHALLENGE.replace("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", ""), "none of SCRAM"),
        (CHALLENGE.replace("s=W22ZaJ0SNY7soEsUEjb6gQ==,", ""), "none of SCRAM"),
        (CHALLENGE.replace("s=W22", "s=\xff"), "none of SCRAM"),
        (CHALLENGE.replace("i=4096", "i=-1"), "none of SCRAM"),
        (CHALLENGE.replace("i=4096", "i=4095"), "wants 4095 iterations, and 4096 to 1000000 are done"),
        (CHALLENGE.replace("i=4096", "i=1000001"), "wants 1000001 iterations"),
        (CHALLENGE.replace("i=4096", "i=" + "9" * 5000), "wants 99999999999999999999 iterations"),
        ("", "none of SCRAM"),
    ],
)
def test_a_challenge_that_is_none_is_not_answered(challenge: str, complaint: str) -> None:
    """Least of all with work without end, or with a proof that few iterations would let others guess from."""
    messages, _ = begun()
    with pytest.raises(NotBelieved, match=complaint):
        messages.send(challenge.encode("latin-1"))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (SIGNATURE.replace("6rri", "7rri"), "does not know the password"),
        ("", "does not know the password"),
        ("e=invalid-proof", "the login is refused: invalid-proof"),
    ],
)
def test_a_broker_that_does_not_know_the_password_is_not_believed(answer: str, complaint: str) -> None:
    messages, _ = begun()
    messages.send(CHALLENGE.encode())
    with pytest.raises(NotBelieved, match=complaint):
        messages.send(answer.encode())

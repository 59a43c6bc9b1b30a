from uuid import UUID

import pytest

from stoker.wire.uuids import draw_uuid, uuid_from_text, uuid_text

BEGINS_WITH_A_DASH = UUID("f8000000-0000-4000-8000-000000000000")
BEGINS_WITH_A_LETTER = UUID("0f3c7a52-93c1-4f0e-8a0a-6f1d2b3c4d5e")


def test_no_id_looks_like_an_option() -> None:
    assert uuid_text(BEGINS_WITH_A_DASH).startswith("-")
    drawn = iter([BEGINS_WITH_A_DASH, BEGINS_WITH_A_LETTER])
    assert draw_uuid(lambda: next(drawn)) == BEGINS_WITH_A_LETTER


def test_text_is_what_kafka_writes() -> None:
    assert uuid_text(BEGINS_WITH_A_LETTER) == "Dzx6UpPBTw6KCm8dKzxNXg"
    assert uuid_from_text("Dzx6UpPBTw6KCm8dKzxNXg") == BEGINS_WITH_A_LETTER


@pytest.mark.parametrize("text", ["", "Dzx6UpPBTw6KCm8dKzxN", "?"])
def test_what_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        uuid_from_text(text)

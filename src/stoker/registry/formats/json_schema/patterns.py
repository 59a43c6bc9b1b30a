"""Regular expressions in schemas. They come from outside, so RE2 runs them, in time linear in the name.

JSON Schema's are those of ECMAScript. What RE2 cannot do (looking ahead, back references) or spells otherwise is not held
against a schema, but matches no name here. What no dialect can read is refused.
"""

from functools import lru_cache
from typing import Any, Final

MAX_PATTERN_LENGTH: Final = 1000
"""A longer one is neither checked nor ever matched."""
MAX_PROGRAM_SIZE: Final = 5000
"""Instructions of the compiled pattern: a larger one could take long for each name."""

_MALFORMED_ANYWHERE: Final = ("missing ]", "missing )", "unexpected )", "trailing \\", "no argument for repetition")
_EMPTY_CLASSES: Final = ("[]", "[^]")
"""Of ECMAScript; for RE2 they go on."""


def mistake(pattern: str) -> str | None:
    """Why it is no regular expression in any dialect."""
    compiled, error = _compiled(pattern)
    if compiled is not None or not error.startswith(_MALFORMED_ANYWHERE):
        return None
    return None if any(empty in pattern for empty in _EMPTY_CLASSES) else error


def finds(pattern: str, name: str) -> bool:
    """Whether some part of the name matches."""
    compiled, _ = _compiled(pattern)
    return compiled is not None and compiled.search(name) is not None


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> tuple[Any, str]:
    """With RE2's reason if it cannot."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return None, "too long"
    # Imported here because most schemas have no pattern.
    import re2  # type: ignore[import-untyped]  # it ships without types

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as refused:
        return None, refused.args[0].decode(errors="replace")
    except UnicodeEncodeError:
        return None, "not Unicode text"
    finally:
        # The module remembers the last 128 patterns itself, with all their memory.
        re2.purge()
    if compiled.programsize > MAX_PROGRAM_SIZE:
        return None, "too large"
    return compiled, ""

"""Names of subjects and the contexts they are in: `:.staging:orders-value` is `orders-value` in the context `.staging`."""

from stoker.registry.errors import invalid_subject

DEFAULT_CONTEXT = "."
ALL_CONTEXTS = ":*:"
_RESERVED = frozenset({"__GLOBAL", "__EMPTY"})


def context_of(subject: str | None) -> str:
    if subject is None or not subject.startswith(":."):
        return DEFAULT_CONTEXT
    end = subject.find(":", 1)
    return subject[1:] if end < 0 else subject[1:end]


def unqualified(subject: str) -> str:
    end = subject.find(":", 1) if subject.startswith(":.") else -1
    return subject[end + 1 :] if end >= 0 else "" if subject.startswith(":.") else subject


def canonical(subject: str) -> str:
    """The default context has no name in front. Raises Unprocessable for what cannot be a subject."""
    if not subject or subject in _RESERVED or any(ord(character) < 32 or character == "\x7f" for character in subject):
        raise invalid_subject(subject)
    return unqualified(subject) if subject.startswith(":.:") else subject


def in_context(subject: str, context: str) -> str:
    """The subject as it is meant where this context is; one that names its own stays there."""
    if subject.startswith(":.") or context == DEFAULT_CONTEXT:
        return subject
    return f":{context}:{subject}"

"""Names of subjects and the contexts they are in: `:.staging:orders-value` is `orders-value` in the context `.staging`."""

from collections.abc import Callable

from stoker.registry.errors import invalid_subject

DEFAULT_CONTEXT = "."
ALL_CONTEXTS = ":*:"
GLOBAL_CONTEXT = ".__GLOBAL"
"""Has no subjects. What is set for it holds in all contexts that have nothing set for themselves."""
_RESERVED = frozenset({"__GLOBAL", "__EMPTY"})


def split(subject: str) -> tuple[str, str]:
    """Context and name."""
    if not subject.startswith(":."):
        return DEFAULT_CONTEXT, subject
    context, _, name = subject[1:].partition(":")
    return context, name


def context_of(subject: str | None) -> str:
    if subject is None or not subject.startswith(":."):
        return DEFAULT_CONTEXT
    return split(subject)[0]


def unqualified(subject: str) -> str:
    return split(subject)[1]


def prefix_of(context: str) -> str:
    """What stands before the names of its subjects, and alone is the name under which its settings are kept."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def canonical(subject: str) -> str:
    """The one spelling of a subject or a context: the default context is not named, any other ends in a colon.

    Raises Unprocessable for what cannot be one.
    """
    context, name = split(subject)
    if not prefix_of(context) + name or name in _RESERVED or subject.startswith(ALL_CONTEXTS) or _is_unfit(subject):
        raise invalid_subject(subject)
    return prefix_of(context) + name


def _is_unfit(subject: str) -> bool:
    """Control characters, as Java counts them, and halves of characters, which cannot be written."""
    return not subject.isprintable() and any(
        character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff" for character in subject
    )


def in_context(subject: str, context: str) -> str:
    """The subject as it is meant where this context is; one that names its own stays there."""
    if subject.startswith(":."):
        own, subject = split(subject)
        return prefix_of(own) + subject
    return prefix_of(context) + subject


def is_context(subject: str) -> bool:
    """Whether it is the name of a context, under which its settings are kept and no schemas: `:.staging:`."""
    return unqualified(subject) == "" or context_of(subject) == GLOBAL_CONTEXT


def matching(subject: str | None) -> Callable[[str], bool]:
    """Which subjects are meant by the name of settings: all, those of a context, or one."""
    if subject is None or context_of(subject) == GLOBAL_CONTEXT:
        return lambda _: True
    if is_context(subject):
        context = context_of(subject)
        return lambda each: context_of(each) == context
    return lambda each: each == subject

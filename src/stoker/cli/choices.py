"""Options whose values are names that Kafka has, in any spelling."""

from collections.abc import Sequence

from stoker.cli.failure import did_you_mean, wrong_usage


def choices(option: str, text: str | None, known: Sequence[str]) -> list[str]:
    """Names that Kafka has, in Kafka's spelling, from a list with commas in any spelling."""
    spellings = {name.lower(): name for name in known}
    chosen = []
    for word in (text or "").split(","):
        if word.strip() and word.strip().lower() not in spellings:
            wrong_usage(f"{option} {word.strip()}: choose from {', '.join(known)}{did_you_mean(word.strip(), known)}")
        if word.strip():
            chosen.append(spellings[word.strip().lower()])
    return chosen

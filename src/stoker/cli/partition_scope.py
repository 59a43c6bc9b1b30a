"""Partitions as they are typed: `orders` is all of a topic, `orders:0,1` two of its partitions."""

from collections.abc import Sequence

from stoker.cli.failure import CommandFailed, wrong_usage
from stoker.cli.topics import existing_topics
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition


def parse_scope(text: str) -> tuple[str, list[int] | None]:
    """The topic and its partitions, None for all of them."""
    topic, colon, listed = text.partition(":")
    if not colon and topic:
        return topic, None
    numbers = listed.split(",")
    if not topic or not all(number.isascii() and number.isdigit() for number in numbers):
        wrong_usage(f"{text!r} names no partitions: the form is TOPIC or TOPIC:0,1,2")
    return topic, [int(number) for number in numbers]


def partitions_in(cluster: Cluster, texts: Sequence[str]) -> list[TopicPartition]:
    """The partitions of the texts, all of which exist. Raises CommandFailed."""
    scopes = [parse_scope(text) for text in texts]
    topics = {topic.name: topic for topic in existing_topics(cluster, [topic for topic, _ in scopes])}
    found: dict[TopicPartition, None] = {}
    for name, numbers in scopes:
        existing = [each.partition for each in topics[name].partitions]
        for number in existing if numbers is None else numbers:
            if number not in existing:
                raise CommandFailed(f"topic {name!r} has no partition {number}; it has {len(existing)}, from 0")
            found[TopicPartition(name, number)] = None
    return list(found)

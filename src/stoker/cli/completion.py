"""Names that the shell completes, asked of the running cluster or registry. Whatever goes wrong, there is just nothing to complete."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from stoker.errors import StokerError

if TYPE_CHECKING:
    from stoker.client.cluster import Cluster

_PATIENCE_SECONDS: Final = 1.0
_PATIENCE: Final = {"request.timeout.ms": "1000", "default.api.timeout.ms": "1000"}
"""A shell that hangs is worse than one that does not complete."""


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    def names(cluster: "Cluster") -> Iterable[str]:
        from stoker.client.admin.topics import list_topics

        return [topic.name for topic in list_topics(cluster) if not topic.is_internal or incomplete.startswith("_")]

    return _completed(context, incomplete, names)


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    def names(cluster: "Cluster") -> Iterable[str]:
        from stoker.client.admin.groups import list_groups

        return [group.group_id for group in list_groups(cluster)]

    return _completed(context, incomplete, names)


def complete_transactional_ids(context: typer.Context, incomplete: str) -> list[str]:
    def names(cluster: "Cluster") -> Iterable[str]:
        from stoker.client.admin.transactions import list_transactions

        return [transaction.transactional_id for transaction in list_transactions(cluster)]

    return _completed(context, incomplete, names)


def complete_brokers(context: typer.Context, incomplete: str) -> list[str]:
    return _completed(context, incomplete, lambda cluster: [str(node_id) for node_id in sorted(cluster.brokers())])


def complete_subjects(context: typer.Context, incomplete: str) -> list[str]:
    from stoker.cli.registry_connection import registry_settings
    from stoker.registry.client import RegistryClient

    try:
        named = registry_settings(context.params.get("registry_url"), context.params.get("user"))
        url, user = str(named.registry_url.text), named.registry_user.text
        with RegistryClient(url, user=user, timeout=_PATIENCE_SECONDS) as registry:
            return [name for name in registry.subjects() if name.startswith(incomplete)]
    except StokerError:
        return []


def _completed(context: typer.Context, incomplete: str, names: "Callable[[Cluster], Iterable[str]]") -> list[str]:
    from stoker.cli.connection import cluster_settings
    from stoker.client.cluster import Cluster
    from stoker.client.properties import client_properties

    command_config = context.params.get("command_config")
    try:
        settings = cluster_settings(
            context.params.get("bootstrap_server"), None if command_config is None else Path(command_config)
        )
        properties = {**settings.properties, **_PATIENCE}
        with Cluster(client_properties(settings.bootstrap_servers.text, properties)) as cluster:
            return [name for name in names(cluster) if name.startswith(incomplete)]
    except StokerError:
        return []

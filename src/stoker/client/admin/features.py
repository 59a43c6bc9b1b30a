"""Features of a cluster (KIP-584): which levels its brokers support, which is in force, and how to change that."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import ANY_BROKER, CONTROLLER, Broker
from stoker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """To level 0 the feature is turned off."""

    level: int
    upgrade_type: UpgradeType


@dataclass(frozen=True, kw_only=True, slots=True)
class Features:
    """`supported` are ranges of levels; `finalized` are the levels in force, None of `epoch` if the cluster has none."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    epoch: int | None


def describe_features(cluster: Cluster, node_id: int | None = None) -> Features:
    """What a broker, or any of them, tells. Raises KafkaRefused."""
    from stoker import __version__

    request = ApiVersionsRequest(client_software_name="stoker", client_software_version=__version__)
    answer = cluster.send(request, ApiVersionsResponse, to=ANY_BROKER if node_id is None else Broker(node_id))
    raise_if_refused(answer.error_code)
    return Features(
        supported={each.name: (each.min_version, each.max_version) for each in answer.supported_features},
        finalized={each.name: each.max_version_level for each in answer.finalized_features},
        epoch=None if answer.finalized_features_epoch < 0 else answer.finalized_features_epoch,
    )


def update_features(
    cluster: Cluster, updates: dict[str, FeatureUpdate], *, validate_only: bool = False
) -> dict[str, KafkaRefused | None]:
    """Change levels, all or nothing; for each feature None or why it was refused. Raises KafkaRefused for all of them."""
    from stoker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse

    request = UpdateFeaturesRequest(
        timeout_ms=cluster.properties.request_timeout_ms * 9 // 10,
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=update.level, upgrade_type=update.upgrade_type)
            for name, update in updates.items()
        ],
        validate_only=validate_only,
    )
    answer = cluster.send(request, UpdateFeaturesResponse, to=CONTROLLER)
    raise_if_refused(answer.error_code, answer.error_message)
    refused = {
        each.feature: KafkaRefused(each.error_code, each.error_message) for each in answer.results if each.error_code
    }
    return {name: refused.get(name) for name in updates}

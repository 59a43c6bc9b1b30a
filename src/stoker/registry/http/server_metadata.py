"""/v1/metadata and what else tells of the server: who it is, how it does, what it can be asked."""

import time
from importlib.metadata import version
from typing import Final

from starlette.responses import Response

from stoker.registry.http.call import Call
from stoker.registry.http.routing import Route

_STARTED: Final = time.monotonic()
_GROUP: Final = "schema-registry"


async def get_root(call: Call) -> Response:
    """Say that the server is there"""
    return call.answer({})


async def post_root(call: Call) -> Response:
    """Say that the server is there and reads JSON"""
    await call.document()
    return call.answer({})


async def get_cluster_id(call: Call) -> Response:
    """Get the id of the Kafka cluster"""
    clusters = {"kafka-cluster": call.service.cluster_id, "schema-registry-cluster": _GROUP}
    return call.answer({"id": "", "scope": {"path": [], "clusters": clusters}})


async def get_version(call: Call) -> Response:
    """Get the version of the server"""
    return call.answer({"version": version("stoker"), "commitId": ""})


async def get_health(call: Call) -> Response:
    """Say how the server does; asks for no password"""
    return call.answer(
        {
            "process_uptime_sec": int(time.monotonic() - _STARTED),
            "schema_registry_ready": True,
            "schema_registry_is_primary": call.service.is_primary_known and call.service.primary_url is None,
            "schema_registry_primary_url": call.service.primary_url,
        }
    )


async def get_master_available(call: Call) -> Response:
    """Say whether an instance is known that takes writes"""
    return call.answer({"master_available": call.service.is_primary_known})


_EMPTY: Final = {"type": "object"}

ROUTES: Final = (
    Route(method="GET", path="/", handler=get_root, answer=_EMPTY),
    Route(method="POST", path="/", handler=post_root, body="AnyObject", answer=_EMPTY, refusals=(422,)),
    Route(method="GET", path="/v1/metadata/id", handler=get_cluster_id, answer="ServerClusterId"),
    Route(method="GET", path="/v1/metadata/version", handler=get_version, answer="ServerVersion"),
    Route(method="GET", path="/_health", handler=get_health, answer="Health"),
    Route(method="GET", path="/master_available", handler=get_master_available, answer="MasterAvailable"),
)

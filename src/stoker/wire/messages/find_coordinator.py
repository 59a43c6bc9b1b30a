"""FindCoordinator (API key 10): which broker looks after a group or a transactional id."""

from stoker.wire.schema import Request, Response, Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    key: str = string("0-3", ignorable=False)
    key_type: int = int8("1+", ignorable=False)
    coordinator_keys: list[str] = array(string, "4+", ignorable=False)


class Coordinator(Struct):
    key: str = string("4+")
    node_id: int = int32("4+")
    host: str = string("4+")
    port: int = int32("4+")
    error_code: int = int16("4+")
    error_message: str | None = string("4+", nullable="4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16("0-3", ignorable=False)
    error_message: str | None = string("1-3", nullable="1-3")
    node_id: int = int32("0-3", ignorable=False)
    host: str = string("0-3", ignorable=False)
    port: int = int32("0-3", ignorable=False)
    coordinators: list[Coordinator] = array(Coordinator, "4+", ignorable=False)

"""Fields of Load and Machines as options of `stoker plan`: what they are called, and how their values are written."""

from typing import Final

from stoker.capacity.figure import shown_bytes, shown_rate

DAY_SECONDS: Final = 86_400.0
_NAMES: Final = {
    "record_bytes": "--record-size",
    "retention_seconds": "--retention",
    "partition_write": "--target-producer-rate",
    "partition_read": "--target-consumer-rate",
    "core_rate": "--spark-core-rate",
}
"""Of fields whose option has another name than they have."""
_RATES: Final = ("broker_write", "broker_network", "partition_write", "partition_read")
_SIZES: Final = ("record_bytes", "state_bytes", "broker_disk", "broker_memory")


def option(field: str) -> str:
    return _NAMES.get(field, "--" + field.replace("_", "-"))


def shown_field(name: str, value: object) -> str:
    """For people; None is said in words."""
    if value is None:
        return "forever" if name == "retention_seconds" else "measured"
    if not isinstance(value, float):
        return str(value)
    if name == "retention_seconds":
        return f"{value / DAY_SECONDS:g}d"
    if name in _RATES:
        return shown_rate(value)
    return shown_bytes(value) if name in _SIZES else f"{value:g}"

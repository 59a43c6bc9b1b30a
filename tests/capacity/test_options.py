"""What options of `stoker plan` are called, and how their values are written."""

import pytest

from stoker.capacity.options import option, shown_field


@pytest.mark.parametrize(
    ("field", "value", "name", "text"),
    [
        ("retention_seconds", 604_800.0, "--retention", "7d"),
        ("retention_seconds", None, "--retention", "forever"),
        ("core_rate", None, "--spark-core-rate", "measured"),
        ("core_rate", 40_000.0, "--spark-core-rate", "40000"),
        ("partition_write", 10e6, "--target-producer-rate", "10 MB/s"),
        ("broker_disk", 16e12, "--broker-disk", "16 TB"),
        ("replication_factor", 3, "--replication-factor", "3"),
        ("headroom", 2.0, "--headroom", "2"),
        ("work", "streams", "--work", "streams"),
    ],
)
def test_fields_as_options(field: str, value: object, name: str, text: str) -> None:
    assert (option(field), shown_field(field, value)) == (name, text)

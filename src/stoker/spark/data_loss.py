"""What is done when records that should be read are gone."""

import logging
from typing import Final, NamedTuple

from stoker.spark.errors import DataLost
from stoker.spark.offsets import Offsets

_LOGGER: Final = logging.getLogger(__name__)

_ADVICE: Final = (
    "Set failOnDataLoss to false to read on from what there is, or begin anew with another checkpoint; longer retention "
    "(retention.ms, retention.bytes) gives a query that was away more time to come back"
)


class DataLoss(NamedTuple):
    """As `failOnDataLoss` says."""

    fail: bool

    def report(self, what: str) -> None:
        """Raises DataLost, or logs a warning."""
        if self.fail:
            raise DataLost(f"{what}. {_ADVICE}")
        _LOGGER.warning("%s. failOnDataLoss is false: reading on from what there is", what)

    def clamp(self, start: Offsets, end: Offsets, earliest: Offsets) -> Offsets:
        """The start, moved to where the partitions begin if that is later; what lies between is lost."""
        moved = dict(start)
        for partition, first in sorted(earliest.items()):
            begin, until = start[partition], end[partition]
            if begin < min(first, until):
                self.report(
                    f"{partition} was to be read from offset {begin} to {until}, but begins at {first} now: older records "
                    "were deleted"
                )
                moved[partition] = first
        return moved

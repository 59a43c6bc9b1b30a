"""What this room raises on purpose.

ClusterError
├── CannotFetchJars         Apache Kafka's jars are not there and cannot be fetched
├── CannotStart             a process did not start, or ended at once; the end of its log is in the message
├── PortInUse               somebody else listens where a process should
├── NoCluster               the directory has no cluster
├── DamagedPlan             the file that says what a cluster is made of cannot be read
├── UnusableDirectory       the directory of a cluster cannot be made, written or removed
├── NoSuchNode              the cluster has no node of this number
├── NodeState               a node runs, or does not, and should not, or should
├── CannotChange            a cluster that is there cannot be made what was asked for
└── NotInTime               what was waited for did not come about
"""

from pathlib import Path

from stoker.errors import StokerError


class ClusterError(StokerError):
    """The root of what this room raises on purpose; the message names the thing, the cause and the choices."""


class CannotFetchJars(ClusterError):
    """Apache Kafka's jars are not there and cannot be fetched."""


class CannotStart(ClusterError):
    """A process did not start, or ended at once; the end of its log is in the message."""


class PortInUse(ClusterError):
    """Somebody else listens where a process should."""


class NoCluster(ClusterError):
    """The directory has no cluster."""


class DamagedPlan(ClusterError):
    """The file that says what a cluster is made of cannot be read."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path}, which says what the cluster is made of, is damaged: put a copy of it back; or end the processes "
            f"whose numbers are in {path.parent}/*/pid, and remove the directory with all of its data"
        )


class UnusableDirectory(ClusterError):
    """The directory of a cluster cannot be made, written or removed."""


class NoSuchNode(ClusterError):
    """The cluster has no node of this number."""


class NodeState(ClusterError):
    """A node runs, or does not, and should not, or should."""


class CannotChange(ClusterError):
    """A cluster that is there cannot be made what was asked for."""


class NotInTime(ClusterError):
    """What was waited for did not come about."""

"""What the engine room raises on purpose.

StokerError
└── SparkError
    ├── SparkCannotStart    no Java, or one that Spark cannot use
    ├── InvalidOption       an option of `format("stoker")` that cannot be, or a missing one
    ├── DataLost            records that should be read are gone, and `failOnDataLoss` is true
    ├── BadRecord           a record that cannot be decoded, and `on.error` is `fail`
    ├── UnencodableColumn   a column that its format or schema cannot hold
    ├── UnwritableRow       a row that can be no record: too large, without a topic, for a partition that is not there
    ├── SchemaNotFound      a schema that the registry does not have
    ├── UnusableSchema      a schema that the registry has and nothing can be read or written by
    ├── RegistryFailed      a registry that cannot be asked, or does not answer as asked
    ├── Overtaken           a task whose transaction somebody else has ended: it is run again
    └── NotExactlyOnce      a promise that can no longer be kept, so nothing is written
"""

from stoker.errors import StokerError


class SparkError(StokerError):
    """The root of what the engine room raises on purpose."""


class SparkCannotStart(SparkError):
    """The message says what is missing and how to install it."""


class InvalidOption(SparkError):
    """The message names the option, what is wrong with it, and the choices."""


class DataLost(SparkError):
    """The message names topic, partition and offsets."""


class BadRecord(SparkError):
    """The message names topic, partition, offset and the reason."""


class UnencodableColumn(SparkError):
    """The message names the column, the row and the reason."""


class UnwritableRow(SparkError):
    """The message names the row, counted from 0 in its Spark partition, and the reason."""


class SchemaNotFound(SparkError):
    """The message names what was looked for, by id or by subject and version, and the registry."""


class UnusableSchema(SparkError):
    """The message names the schema, the part of it that is meant, and the reason."""


class RegistryFailed(SparkError):
    """The message names the registry, what it said last, and the options that matter."""


class Overtaken(SparkError):
    """The message says which task, and what may be the cause."""


class NotExactlyOnce(SparkError):
    """The message says which promise, why, and what to do."""

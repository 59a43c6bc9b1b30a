"""ksqlDB's words: those that cannot be names unless they are quoted, and those that are units of time."""

from typing import Final

RESERVED: Final = frozenset({
    "ADVANCE", "ALL", "AND", "AS", "AT", "BEGINNING", "BETWEEN", "BY", "CASE", "CAST", "CATALOG", "CONNECTOR",
    "CONNECTORS", "CREATE", "DAYS", "DECIMAL", "DELETE", "DESCRIBE", "DISTINCT", "DROP", "ELSE", "END", "EXISTS",
    "EXPORT", "EXTENDED", "FALSE", "FROM", "FULL", "GROUP", "HAVING", "HOPPING", "HOURS", "IN", "INNER", "INSERT",
    "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "LIST", "LOAD", "MATERIALIZED", "MILLISECOND", "MILLISECONDS",
    "MINUTES", "MONTHS", "NAMESPACE", "NOT", "NULL", "ON", "OR", "OUTER", "PAUSE", "PRINT", "PROPERTIES", "QUERIES",
    "QUERY", "RENAME", "RESUME", "RETENTION", "RIGHT", "RUN", "SAMPLE", "SCRIPT", "SECONDS", "SELECT", "SIZE",
    "STREAM", "STREAMS", "TABLE", "TERMINATE", "THEN", "TO", "TOPIC", "TOPICS", "TRUE", "TUMBLING", "UNSET", "VALUES",
    "VIEW", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "YEARS",
})  # fmt: skip
NEVER_NAMES: Final = frozenset({
    "AND", "AS", "BETWEEN", "BY", "DISTINCT", "ELSE", "END", "FROM", "GROUP", "HAVING", "IN", "IS", "JOIN", "LIKE", "LIMIT",
    "NOT", "ON", "OR", "SELECT", "THEN", "VALUES", "WHEN", "WHERE", "WINDOW", "WITH",
})  # fmt: skip
"""Reserved words that are hardly ever meant as names where they are not expected."""
TIME_UNITS: Final = {
    "MILLISECOND": 1,
    "MILLISECONDS": 1,
    "SECOND": 1_000,
    "SECONDS": 1_000,
    "MINUTE": 60_000,
    "MINUTES": 60_000,
    "HOUR": 3_600_000,
    "HOURS": 3_600_000,
    "DAY": 86_400_000,
    "DAYS": 86_400_000,
}
"""In milliseconds."""
PSEUDO_COLUMNS: Final = ("ROWTIME", "ROWPARTITION", "ROWOFFSET", "WINDOWSTART", "WINDOWEND")
"""What every row has beside its columns; the last two only where there are windows."""

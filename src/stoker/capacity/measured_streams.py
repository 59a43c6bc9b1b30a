"""What streams applications do in a second. The only place that has a figure of docs/benchmarks-streams.md.

Whoever measures that page anew changes the three numbers, runs `make docs` and
`python -m tests.cli.test_scaling_documentation docs/scaling.md`.
"""

from typing import Final

STREAMS_PAGE: Final = "benchmarks-streams.md"

STREAMS_EVENTS_PER_SECOND: Final = 663_000.0
"""Revenue of each customer and hour, exactly once, topic to topic with a changelog, after the first quarter: the slower of the
two brokers' rows."""

STREAMS_CORES: Final = 2
"""The machine's, of which the broker took its share: what a core of Spark's own does is rather more."""

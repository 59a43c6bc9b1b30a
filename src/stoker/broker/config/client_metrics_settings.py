"""The settings of one subscription to client metrics (KIP-714): `kafka-configs.sh --entity-type client-metrics`."""

from stoker.broker.config.setting import MINUTE_MS, PLANNED, Setting, int32, string_list

# A table reads row by row; the formatter would spread each row over a dozen lines.
# fmt: off
CLIENT_METRICS_SETTINGS: tuple[Setting, ...] = (
    int32("interval.ms", 5 * MINUTE_MS, "How often a subscribed client pushes its metrics.", effect=PLANNED),
    string_list("match", (),
        "Which clients are subscribed: `client_id=regex` and the like, several separated by commas; empty is all.",
        effect=PLANNED),
    string_list("metrics", (), "Prefixes of the metrics asked for; `*` is all.", effect=PLANNED),
)

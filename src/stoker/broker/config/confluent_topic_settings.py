"""Topic settings that are not Kafka's but Confluent Server's: which topics take only records with a registered schema id."""

from typing import Final

from stoker.broker.config.setting import HONOURED, Setting, boolean, string
from stoker.log.config import RECORD_NAME_STRATEGY, TOPIC_NAME_STRATEGY, TOPIC_RECORD_NAME_STRATEGY

_STRATEGIES: Final = (TOPIC_NAME_STRATEGY, RECORD_NAME_STRATEGY, TOPIC_RECORD_NAME_STRATEGY)

# A table reads row by row; the formatter would spread each row over a dozen lines.
# fmt: off
CONFLUENT_TOPIC_SETTINGS: tuple[Setting, ...] = (
    boolean("confluent.key.schema.validation", False,
        "Refuse records whose key does not begin with the id of a schema that is registered for this topic.",
        effect=HONOURED),
    string("confluent.key.subject.name.strategy", TOPIC_NAME_STRATEGY,
        "Under which subjects the schemas of this topic's keys are registered.",
        choices=_STRATEGIES, effect=HONOURED),
    boolean("confluent.value.schema.validation", False,
        "Refuse records whose value does not begin with the id of a schema that is registered for this topic.",
        effect=HONOURED),
    string("confluent.value.subject.name.strategy", TOPIC_NAME_STRATEGY,
        "Under which subjects the schemas of this topic's values are registered.",
        choices=_STRATEGIES, effect=HONOURED),
)

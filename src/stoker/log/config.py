"""The settings of one partition's log, named and defaulted as Kafka's topic configs."""

from dataclasses import dataclass, field

NEVER = 9_223_372_036_854_775_807
"""Kafka's way to say "no limit": the largest long."""

TOPIC_NAME_STRATEGY = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
RECORD_NAME_STRATEGY = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
TOPIC_RECORD_NAME_STRATEGY = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogConfig:
    """Share one instance among all partitions with the same settings: a broker may hold thousands of logs."""

    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4_096
    preallocate: bool = False

    retention_ms: int = 604_800_000
    """Whole closed segments older than this go; -1 keeps them for ever."""
    retention_bytes: int = -1
    """The oldest segments go while the log is larger than this; -1 means no limit."""
    file_delete_delay_ms: int = 60_000

    max_message_bytes: int = 1_048_588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = NEVER
    message_timestamp_after_max_ms: int = 3_600_000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3

    cleanup_policy: frozenset[str] = field(default=frozenset({"delete"}))
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER
    min_cleanable_dirty_ratio: float = 0.5

    flush_messages: int = NEVER
    flush_ms: int = NEVER

    producer_id_expiration_ms: int = 86_400_000

    confluent_key_schema_validation: bool = False
    confluent_key_subject_name_strategy: str = TOPIC_NAME_STRATEGY
    confluent_value_schema_validation: bool = False
    confluent_value_subject_name_strategy: str = TOPIC_NAME_STRATEGY

    roll_ms: int = field(init=False)
    """Age at which a segment is closed: segment.ms, or for what must be compacted sooner, max.compaction.lag.ms."""
    takes_batches_as_they_are: bool = field(init=False)
    """A valid batch needs neither a look at its records nor another timestamp or codec: the common case."""
    validates_schema_ids: bool = field(init=False)
    """Keys or values, or both, must have the id of a registered schema. It is the broker that looks, not the log."""

    def __post_init__(self) -> None:
        as_they_are = (
            self.message_timestamp_type == "CreateTime"
            and self.compression_type == "producer"
            and not self.is_compacted
        )
        roll_ms = min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms
        object.__setattr__(self, "roll_ms", roll_ms)
        object.__setattr__(self, "takes_batches_as_they_are", as_they_are)
        validates = self.confluent_key_schema_validation or self.confluent_value_schema_validation
        object.__setattr__(self, "validates_schema_ids", validates)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted_by_retention(self) -> bool:
        return "delete" in self.cleanup_policy

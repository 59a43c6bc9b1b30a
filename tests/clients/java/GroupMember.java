import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** One consumer on a thread of its own: commands between polls, events as they happen. */
final class GroupMember implements Runnable, ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", "org.apache.kafka.clients.consumer.RangeAssignor",
            "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
            "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    final LinkedBlockingQueue<JsonNode> commands = new LinkedBlockingQueue<>();
    private final String name;
    private final JsonNode join;
    private final String bootstrapServers;
    private final Map<TopicPartition, OffsetAndMetadata> processed = new HashMap<>();
    private KafkaConsumer<byte[], byte[]> consumer;
    private boolean polls = true;
    private boolean stays = true;

    GroupMember(String name, JsonNode join, String bootstrapServers) {
        this.name = name;
        this.join = join;
        this.bootstrapServers = bootstrapServers;
    }

    @Override
    public void run() {
        try {
            open();
            while (stays) {
                while (stays && (!polls || !commands.isEmpty())) {
                    obey(commands.take());
                }
                if (stays && polls) {
                    process(consumer.poll(POLL));
                }
            }
            tell("left");
        } catch (Throwable error) {
            tellFailure("failed", error);
            consumer.close();
        }
    }

    private void open() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("fetch.max.wait.ms", 100);
        settings.put("retry.backoff.ms", 20);
        join.get("settings").fields().forEachRemaining(
                entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        settings.computeIfPresent("partition.assignment.strategy", (key, value) -> ASSIGNORS.get(value));
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        if (join.hasNonNull("pattern")) {
            consumer.subscribe(new SubscriptionPattern(join.get("pattern").asText()), this);
        } else {
            List<String> topics = new ArrayList<>();
            join.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, this);
        }
    }

    private void obey(JsonNode command) {
        try {
            switch (command.get("command").asText()) {
                case "stop_polling" -> {
                    polls = false;
                    tell("stopped_polling");
                }
                case "poll_again" -> polls = true;
                case "leave" -> {
                    stays = false;
                    tell("leaving");
                    consumer.close();
                }
                case "commit" -> {
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    command.get("offsets").forEach(each -> offsets.put(
                            new TopicPartition(each.get(0).asText(), each.get(1).asInt()),
                            new OffsetAndMetadata(each.get(2).asLong())));
                    commit(offsets, command.get("async").asBoolean());
                }
                case "seek" -> {
                    seek(new TopicPartition(command.get("topic").asText(), command.get("partition").asInt()), command.get("to"));
                    tell("sought");
                }
                default -> throw new IllegalArgumentException(command.toString());
            }
        } catch (RuntimeException error) {
            tellFailure(command.get("command").asText().equals("commit") ? "commit_failed" : "failed", error);
        }
    }

    private void process(Iterable<ConsumerRecord<byte[], byte[]>> polled) {
        List<Object> records = new ArrayList<>();
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : polled) {
            records.add(List.of(record.topic(), record.partition(), record.offset(),
                    record.value() == null ? "" : new String(record.value(), StandardCharsets.UTF_8)));
            next.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        if (records.isEmpty()) {
            return;
        }
        String end = join.path("end").asText();
        if (end.equals("after_commit")) { // at most once: committed, then processed
            consumer.commitSync(next);
            die();
        }
        tell("records", "records", records);
        processed.putAll(next);
        if (end.equals("before_commit")) {
            die();
        }
        String commits = join.get("commit").asText();
        if (!commits.equals("never")) {
            try {
                commit(next, commits.equals("async"));
            } catch (RuntimeException error) {
                tellFailure("commit_failed", error);
            }
        }
    }

    private void commit(Map<TopicPartition, OffsetAndMetadata> offsets, boolean asynchronously) {
        if (asynchronously) {
            consumer.commitAsync(offsets, (committed, error) -> {
                if (error != null) {
                    tellFailure("commit_failed", error);
                } else {
                    tellCommitted(committed);
                }
            });
        } else {
            consumer.commitSync(offsets);
            tellCommitted(offsets);
        }
    }

    private void seek(TopicPartition partition, JsonNode to) {
        if (to.isNumber()) {
            consumer.seek(partition, to.asLong());
        } else if (to.isObject()) {
            consumer.seek(partition, consumer.offsetsForTimes(Map.of(partition, to.get("time").asLong())).get(partition).offset());
        } else if (to.asText().equals("beginning")) {
            consumer.seekToBeginning(List.of(partition));
        } else {
            consumer.seekToEnd(List.of(partition));
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tellPartitions("assigned", partitions);
        if (join.path("callbacks").asBoolean()) {
            consumer.seekToBeginning(partitions);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        tellPartitions("revoked", partitions);
        if (join.path("callbacks").asBoolean()) {
            Map<TopicPartition, OffsetAndMetadata> leaving = new HashMap<>(processed);
            leaving.keySet().retainAll(partitions);
            commit(leaving, false);
        }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        tellPartitions("lost", partitions);
    }

    private void tellPartitions(String event, Collection<TopicPartition> partitions) {
        tell(event, "partitions", partitions.stream().map(each -> List.of(each.topic(), each.partition())).toList());
    }

    private void tellCommitted(Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<Object> told = new ArrayList<>();
        offsets.forEach((partition, offset) -> told.add(List.of(partition.topic(), partition.partition(), offset.offset())));
        tell("committed", "offsets", told);
    }

    /** Kafka's name of the error if it is one of its own, else Java's. */
    private void tellFailure(String event, Throwable error) {
        Errors known = error instanceof ApiException ? Errors.forException(error) : Errors.UNKNOWN_SERVER_ERROR;
        tell(event, "name", known == Errors.UNKNOWN_SERVER_ERROR ? error.getClass().getSimpleName() : known.name(),
                "message", String.valueOf(error.getMessage()));
    }

    private void tell(String event, Object... details) {
        Map<String, Object> told = new HashMap<>(Map.of("event", event, "member", name));
        for (int each = 0; each < details.length; each += 2) {
            told.put((String) details[each], details[each + 1]);
        }
        try {
            GroupMembers.tell(told);
        } catch (Exception broken) {
            throw new IllegalStateException(broken);
        }
    }

    private static void die() {
        try {
            new ProcessBuilder("kill", "-KILL", String.valueOf(ProcessHandle.current().pid())).start().waitFor();
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}

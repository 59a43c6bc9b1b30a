import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What transactions/transactional_client.py asks of a client, done by kafka-clients. */
final class Transactions {
    private static final Duration WAIT = Duration.ofSeconds(20);

    private static final class Member {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final Deque<ConsumerRecord<byte[], byte[]>> polled = new ArrayDeque<>(); // before it was asked for
        private ConsumerGroupMetadata metadata; // as it was when it last polled

        Member(KafkaConsumer<byte[], byte[]> consumer) {
            this.consumer = consumer;
        }
    }

    private final String bootstrapServers;
    private final Map<Integer, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<Integer, Member> members = new HashMap<>();

    Transactions(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    /** The operation's result; a failure of a producer is one too, under the name of its class. */
    Object run(String operation, JsonNode arguments) throws Exception {
        try {
            return result(operation, arguments);
        } catch (KafkaException | ExecutionException failed) {
            Throwable cause = failed;
            while ((cause instanceof ExecutionException || cause.getClass() == KafkaException.class) && cause.getCause() != null) {
                cause = cause.getCause();
            }
            return Map.of("failure", Map.of("name", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage())));
        }
    }

    private Object result(String operation, JsonNode arguments) throws Exception {
        switch (operation) {
            case "open" -> open(arguments);
            case "begin" -> producer(arguments).beginTransaction();
            case "send" -> {
                return send(arguments);
            }
            case "send_offsets" -> sendOffsets(arguments);
            case "commit" -> producer(arguments).commitTransaction();
            case "abort" -> producer(arguments).abortTransaction();
            case "close" -> producers.remove(arguments.get("producer").asInt()).close(Duration.ZERO); // aborts nothing
            case "join" -> join(arguments);
            case "poll" -> {
                return poll(member(arguments), arguments.get("count").asInt());
            }
            case "rewind" -> rewind(member(arguments));
            case "leave" -> member(arguments).consumer.close();
            case "read" -> {
                return read(arguments);
            }
            case "end" -> {
                try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolated(arguments))) {
                    return end(consumer, new TopicPartition(arguments.get("topic").asText(), 0));
                }
            }
            default -> throw new IllegalArgumentException(operation);
        }
        return null;
    }

    private void open(JsonNode arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("transactional.id", arguments.get("transactional_id").asText());
        settings.put("transaction.timeout.ms", arguments.get("timeout_ms").asInt());
        settings.put("compression.type", arguments.get("codec").asText());
        settings.put("max.block.ms", WAIT.toMillis());
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        try {
            producer.initTransactions();
        } catch (KafkaException refused) {
            producer.close(Duration.ZERO);
            throw refused;
        }
        producers.put(arguments.get("producer").asInt(), producer);
    }

    private List<Long> send(JsonNode arguments) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode value : arguments.get("values")) {
            sent.add(producer(arguments).send(new ProducerRecord<>(arguments.get("topic").asText(),
                    arguments.get("partition").asInt(), null, Base64.getDecoder().decode(value.asText()))));
        }
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> each : sent) {
            offsets.add(each.get().offset());
        }
        return offsets;
    }

    private void sendOffsets(JsonNode arguments) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        arguments.get("offsets").forEach(each -> offsets.put(
                new TopicPartition(each.get(0).asText(), each.get(1).asInt()), new OffsetAndMetadata(each.get(2).asLong())));
        ConsumerGroupMetadata group = arguments.get("member").isNull()
                ? new ConsumerGroupMetadata(arguments.get("group").asText()) : member(arguments).metadata;
        producer(arguments).sendOffsetsToTransaction(offsets, group);
    }

    private void join(JsonNode arguments) {
        Properties settings = new Properties();
        settings.put("isolation.level", "read_committed");
        settings.put("group.id", arguments.get("group").asText());
        settings.put("group.protocol", arguments.get("protocol").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        KafkaConsumer<byte[], byte[]> consumer = consumer(settings);
        consumer.subscribe(List.of(arguments.get("topic").asText()));
        members.put(arguments.get("member").asInt(), new Member(consumer));
    }

    private static List<String> poll(Member member, int count) {
        long deadline = System.nanoTime() + WAIT.toNanos();
        while (member.polled.size() < count) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError(member.polled.size() + " of " + count + " records after " + WAIT);
            }
            member.consumer.poll(Duration.ofMillis(100)).forEach(member.polled::add);
        }
        member.metadata = member.consumer.groupMetadata();
        List<String> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            values.add(text(member.polled.remove()));
        }
        return values;
    }

    private static void rewind(Member member) {
        member.polled.clear();
        member.consumer.committed(member.consumer.assignment(), WAIT).forEach((partition, committed) -> {
            if (committed == null) {
                member.consumer.seekToBeginning(Collections.singleton(partition));
            } else {
                member.consumer.seek(partition, committed);
            }
        });
    }

    /** The first `count` records, or all up to the end as this reader is told it. */
    private List<String> read(JsonNode arguments) {
        TopicPartition partition = new TopicPartition(arguments.get("topic").asText(), 0);
        long count = arguments.get("count").isNull() ? Long.MAX_VALUE : arguments.get("count").asLong();
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolated(arguments))) {
            long end = count == Long.MAX_VALUE ? end(consumer, partition) : Long.MAX_VALUE;
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.nanoTime() + WAIT.toNanos();
            while (values.size() < count && consumer.position(partition) < end) {
                if (System.nanoTime() > deadline) {
                    throw new AssertionError(values.size() + " records after " + WAIT);
                }
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(text(record)));
            }
        }
        return values.subList(0, (int) Math.min(count, values.size()));
    }

    private static long end(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        return consumer.endOffsets(List.of(partition)).get(partition);
    }

    private static Properties isolated(JsonNode arguments) {
        Properties settings = new Properties();
        settings.put("isolation.level", arguments.get("isolation").asText());
        return settings;
    }

    private KafkaConsumer<byte[], byte[]> consumer(Properties settings) {
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("fetch.max.wait.ms", 100);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private KafkaProducer<byte[], byte[]> producer(JsonNode arguments) {
        return producers.get(arguments.get("producer").asInt());
    }

    private Member member(JsonNode arguments) {
        return members.get(arguments.get("member").asInt());
    }

    private static String text(ConsumerRecord<byte[], byte[]> record) {
        return Base64.getEncoder().encodeToString(record.value());
    }
}

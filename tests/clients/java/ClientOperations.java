import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What tests/clients/client.py asks of a client, done by kafka-clients. */
final class ClientOperations {
    private static final Duration WAIT = Duration.ofSeconds(20);

    private String bootstrapServers;
    private Admin admin;
    private Transactions transactions;

    Map<String, Driver.Operation> operations() {
        Map<String, Driver.Operation> table = new HashMap<>();
        table.put("connect", this::connect);
        table.put("produce", this::produce);
        table.put("produce_by_key", this::produceByKey);
        table.put("read", this::read);
        table.put("offset_for_time", this::offsetForTime);
        table.put("offset_range", this::offsetRange);
        table.put("create_topic", this::createTopic);
        table.put("delete_topic", arguments -> admin.deleteTopics(List.of(topic(arguments))).all().get());
        table.put("create_partitions", arguments -> admin.createPartitions(
                Map.of(topic(arguments), NewPartitions.increaseTo(arguments.get("total").asInt()))).all().get());
        table.put("set_topic_configs", this::setTopicConfigs);
        table.put("topic_configs", this::topicConfigs);
        table.put("partition_count", arguments -> admin.describeTopics(List.of(topic(arguments)))
                .allTopicNames().get().get(topic(arguments)).partitions().size());
        table.put("topics", arguments -> admin.listTopics().names().get());
        table.put("delete_records", arguments -> {
            admin.deleteRecords(Map.of(partition(arguments),
                    RecordsToDelete.beforeOffset(arguments.get("before_offset").asLong()))).all().get();
            return null;
        });
        table.put("describe_cluster", this::describeCluster);
        table.put("describe_topic", this::describeTopic);
        return table;
    }

    Transactions transactions() {
        return transactions;
    }

    void close() {
        if (admin != null) {
            admin.close();
        }
    }

    private Object connect(JsonNode arguments) {
        bootstrapServers = arguments.get("bootstrap_servers").asText();
        admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers));
        transactions = new Transactions(bootstrapServers);
        return null;
    }

    private Object produce(JsonNode arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("compression.type", arguments.get("codec").asText());
        settings.put("acks", arguments.get("acks").asText());
        settings.put("enable.idempotence", arguments.get("idempotent").asBoolean());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(settings)) {
            for (JsonNode record : arguments.get("records")) {
                List<Header> headers = new ArrayList<>();
                record.get("headers").forEach(
                        pair -> headers.add(new RecordHeader(pair.get(0).asText(), bytes(pair.get(1)))));
                Long timestamp = record.get("timestamp").isNull() ? null : record.get("timestamp").asLong();
                sent.add(producer.send(new ProducerRecord<>(topic(arguments), record.get("partition").asInt(), timestamp,
                        bytes(record.get("key")), bytes(record.get("value")), headers)));
            }
            List<Long> offsets = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) {
                offsets.add(each.get().offset());
            }
            return offsets;
        }
    }

    private Object produceByKey(JsonNode arguments) throws Exception {
        Properties settings = new Properties();
        if (arguments.has("settings")) {
            arguments.get("settings").fields().forEachRemaining(
                    entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        }
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(settings)) {
            for (JsonNode key : arguments.get("keys")) {
                sent.add(producer.send(new ProducerRecord<>(topic(arguments), bytes(key), new byte[0])));
            }
            // waited for while the producer is open: one that closes may leave a record that timed out without an end
            List<Integer> partitions = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) {
                partitions.add(each.get().partition());
            }
            return partitions;
        }
    }

    private Object read(JsonNode arguments) {
        TopicPartition partition = partition(arguments);
        int count = arguments.get("count").asInt();
        List<Object> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(partition));
            if (arguments.get("start").isTextual()) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, arguments.get("start").asLong());
            }
            long deadline = System.nanoTime() + WAIT.toNanos();
            while (found.size() < count && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(WAIT)) {
                    if (found.size() < count) {
                        found.add(described(record));
                    }
                }
            }
        }
        return found;
    }

    private static Map<String, Object> described(ConsumerRecord<byte[], byte[]> record) {
        List<Object> headers = new ArrayList<>();
        record.headers().forEach(header -> {
            List<String> pair = new ArrayList<>(); // List.of takes no null
            pair.add(header.key());
            pair.add(text(header.value()));
            headers.add(pair);
        });
        Map<String, Object> described = new HashMap<>();
        described.put("offset", record.offset());
        described.put("timestamp", record.timestamp());
        described.put("key", text(record.key()));
        described.put("value", text(record.value()));
        described.put("headers", headers);
        return described;
    }

    private Object offsetForTime(JsonNode arguments) {
        TopicPartition partition = partition(arguments);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            OffsetAndTimestamp found =
                    consumer.offsetsForTimes(Map.of(partition, arguments.get("timestamp").asLong())).get(partition);
            return found == null ? null : found.offset();
        }
    }

    private Object offsetRange(JsonNode arguments) {
        TopicPartition partition = partition(arguments);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            return List.of(consumer.beginningOffsets(List.of(partition)).get(partition),
                    consumer.endOffsets(List.of(partition)).get(partition));
        }
    }

    private Object createTopic(JsonNode arguments) throws Exception {
        NewTopic wanted = new NewTopic(topic(arguments), Optional.of(arguments.get("partitions").asInt()),
                Optional.of((short) arguments.get("replication_factor").asInt()));
        admin.createTopics(List.of(wanted.configs(configs(arguments)))).all().get();
        return null;
    }

    private Object setTopicConfigs(JsonNode arguments) throws Exception {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        configs(arguments).forEach((name, value) ->
                changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(resource(arguments), changes)).all().get();
        return null;
    }

    private Object topicConfigs(JsonNode arguments) throws Exception {
        Map<String, String> found = new LinkedHashMap<>();
        admin.describeConfigs(List.of(resource(arguments))).all().get().get(resource(arguments)).entries()
                .forEach(entry -> found.put(entry.name(), entry.value()));
        return found;
    }

    private Object describeCluster(JsonNode arguments) throws Exception {
        var described = admin.describeCluster();
        return Map.of("cluster_id", described.clusterId().get(), "controller", described.controller().get().id(),
                "nodes", described.nodes().get().stream().map(node -> node.id()).toList());
    }

    private Object describeTopic(JsonNode arguments) throws Exception {
        var described = admin.describeTopics(List.of(topic(arguments))).allTopicNames().get().get(topic(arguments));
        List<Object> partitions = new ArrayList<>();
        described.partitions().forEach(each -> partitions.add(Map.of(
                "partition", each.partition(), "leader", each.leader().id(),
                "replicas", each.replicas().stream().map(node -> node.id()).toList(),
                "isr", each.isr().stream().map(node -> node.id()).toList())));
        return Map.of("topic_id", described.topicId().toString(), "internal", described.isInternal(),
                "partitions", partitions);
    }

    private KafkaProducer<byte[], byte[]> producer(Properties settings) {
        settings.putIfAbsent("bootstrap.servers", bootstrapServers);
        settings.putIfAbsent("delivery.timeout.ms", 20_000);
        settings.putIfAbsent("request.timeout.ms", 10_000);
        settings.putIfAbsent("max.block.ms", 10_000);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("auto.offset.reset", "none");
        settings.put("fetch.max.wait.ms", 100);
        settings.put("allow.auto.create.topics", false);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static String topic(JsonNode arguments) {
        return arguments.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode arguments) {
        return new TopicPartition(topic(arguments), arguments.get("partition").asInt());
    }

    private static ConfigResource resource(JsonNode arguments) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic(arguments));
    }

    private static Map<String, String> configs(JsonNode arguments) {
        Map<String, String> configs = new HashMap<>();
        arguments.get("configs").fields().forEachRemaining(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        return configs;
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}

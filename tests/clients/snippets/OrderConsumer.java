import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.StringDeserializer;
import java.time.Duration;
import java.util.Collections;
import java.util.Properties;

public class OrderConsumer {
    private final KafkaConsumer<String, String> consumer;
    private volatile boolean running = true;

    public OrderConsumer() {
        Properties props = new Properties();
        props.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, "broker1:9092,broker2:9092");
        props.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class.getName());
        props.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class.getName());
        props.put(ConsumerConfig.GROUP_ID_CONFIG, "order-processing-group");

        // What to do when no committed offset exists for this group+partition
        // "earliest" = from beginning, "latest" = from now (default)
        props.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");

        // Disable auto-commit for manual control
        props.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);

        // Max records returned per poll() call
        props.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 500);

        // Must call poll() within this window or consumer is considered dead
        // and triggers rebalance. Must be > your processing time per batch.
        props.put(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, 300_000); // 5 minutes

        // Heartbeat thread sends heartbeats independently of poll()
        props.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, 3_000);

        // If no heartbeat within session.timeout.ms, consumer is removed from group
        props.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, 45_000);

        // Partition assignment strategy (see below)
        props.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

        this.consumer = new KafkaConsumer<>(props);
    }

    public void run() {
        consumer.subscribe(Collections.singletonList("orders"),
            new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    // Called before rebalance: commit offsets for revoked partitions
                    commitSync(partitions);
                }

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    // Called after rebalance: can seek to specific offsets here
                    System.out.println("Assigned: " + partitions);
                }
            });

        try {
            while (running) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));

                for (TopicPartition partition : records.partitions()) {
                    List<ConsumerRecord<String, String>> partitionRecords = records.records(partition);

                    for (ConsumerRecord<String, String> record : partitionRecords) {
                        processRecord(record);
                    }

                    // Manual commit per partition after processing
                    long lastOffset = partitionRecords.get(partitionRecords.size() - 1).offset();

                    // Commit offset+1 (next offset to fetch)
                    consumer.commitSync(Collections.singletonMap(
                        partition, new OffsetAndMetadata(lastOffset + 1)));
                }
            }
        } finally {
            consumer.close(); // also triggers rebalance + commits pending offsets
        }
    }

    private void commitSync(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition tp : partitions) {
            offsets.put(tp, new OffsetAndMetadata(consumer.position(tp)));
        }
        consumer.commitSync(offsets);
    }

    private void processRecord(ConsumerRecord<String, String> record) {
        System.out.printf("Topic: %s, Partition: %d, Offset: %d, Key: %s%n",
            record.topic(), record.partition(), record.offset(), record.key());
        // Your processing logic here
    }

    public void shutdown() { running = false; }
}

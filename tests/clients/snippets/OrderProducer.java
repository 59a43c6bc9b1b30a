import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;
import java.util.Properties;
import java.util.concurrent.Future;

public class OrderProducer {
    private final KafkaProducer<String, String> producer;
    private static final String TOPIC = "orders";

    public OrderProducer() {
        Properties props = new Properties();
        props.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "broker1:9092,broker2:9092");
        props.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());
        props.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class.getName());

        // Reliability: wait for all ISR to acknowledge
        props.put(ProducerConfig.ACKS_CONFIG, "all");

        // Idempotence: exactly-once per partition (requires acks=all)
        props.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);

        // Batching: wait up to 10ms to fill a batch
        props.put(ProducerConfig.LINGER_MS_CONFIG, 10);

        // Max batch size in bytes (16KB default, 32KB here)
        props.put(ProducerConfig.BATCH_SIZE_CONFIG, 32 * 1024);

        // Compression: lz4 is fast; gzip gives best ratio
        props.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");

        // Retries (idempotent producer sets this to Integer.MAX_VALUE by default)
        props.put(ProducerConfig.RETRIES_CONFIG, Integer.MAX_VALUE);
        props.put(ProducerConfig.RETRY_BACKOFF_MS_CONFIG, 100);

        // In-flight requests: must be 1 for non-idempotent ordered delivery;
        // idempotent producer allows up to 5
        props.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 5);

        // Block if internal queue is full (instead of throwing exception)
        props.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 60_000);

        this.producer = new KafkaProducer<>(props);
    }

    // Fire-and-forget (async with callback)
    public void sendAsync(String orderId, String payload) {
        ProducerRecord<String, String> record =
            new ProducerRecord<>(TOPIC, orderId, payload); // key=orderId routes to same partition

        producer.send(record, (metadata, exception) -> {
            if (exception != null) {
                // Log, alert, send to DLQ
                System.err.println("Send failed for order " + orderId + ": " + exception.getMessage());
            } else {
                System.out.printf("Sent to %s-P%d @ offset %d%n",
                    metadata.topic(), metadata.partition(), metadata.offset());
            }
        });
    }

    // Synchronous send — blocks until acknowledged or throws
    public RecordMetadata sendSync(String orderId, String payload) throws Exception {
        ProducerRecord<String, String> record =
            new ProducerRecord<>(TOPIC, orderId, payload);
        Future<RecordMetadata> future = producer.send(record);
        return future.get(); // blocks — use only when you must guarantee ordering inline
    }

    // Send to specific partition (bypass partitioner)
    public void sendToPartition(int partition, String key, String value) {
        ProducerRecord<String, String> record =
            new ProducerRecord<>(TOPIC, partition, key, value);
        producer.send(record, (meta, ex) -> { /* handle */ });
    }

    public void flush() { producer.flush(); }
    public void close() { producer.close(); }
}

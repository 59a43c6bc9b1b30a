import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic from its beginning with the Java consumer, by assignment and without a group.
 *
 * <p>Arguments: bootstrap servers, topic, partitions, records. The topic is read twice in this process and the second
 * reading is timed, when the JIT compiler has seen the code. Prints "SECONDS VALUE_BYTES".
 */
public final class FetchReader {
    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("enable.auto.commit", "false");
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) partitions.add(new TopicPartition(arguments[1], i));
        long records = Long.parseLong(arguments[3]);
        try (var consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            read(consumer, partitions, records);
            long start = System.nanoTime();
            long bytes = read(consumer, partitions, records);
            System.out.printf("%.6f %d%n", (System.nanoTime() - start) / 1e9, bytes);
        }
    }

    private static long read(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions, long records) {
        consumer.seekToBeginning(partitions);
        long have = 0;
        long bytes = 0;
        while (have < records) {
            var polled = consumer.poll(Duration.ofSeconds(20));
            if (polled.isEmpty()) throw new IllegalStateException("nothing to read for 20 s");
            for (ConsumerRecord<byte[], byte[]> record : polled) bytes += record.value().length;
            have += polled.count();
        }
        return bytes;
    }
}

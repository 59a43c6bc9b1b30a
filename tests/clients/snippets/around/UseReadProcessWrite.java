import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs the snippet's loop over a, b and c, where b fails the first time, and d, which comes then; and once more over e, when it is fenced. */
public class UseReadProcessWrite {
    private static final String ADDRESS = "broker1:9092";

    private static final class Done extends Error {
    }

    /** The consumer that the snippet uses, and does not close. */
    private static final class KafkaConsumer<K, V> extends org.apache.kafka.clients.consumer.KafkaConsumer<K, V> {
        private static final List<KafkaConsumer<?, ?>> MADE = new ArrayList<>();

        KafkaConsumer(Properties settings) {
            super(settings);
            MADE.add(this);
        }
    }

    private static boolean failed = false;
    private static boolean done = false;

    private static void send(String value) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", ADDRESS);
        try (var producer = new org.apache.kafka.clients.producer.KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", value));
        }
    }

    /** Each of the last two values calls for the next, which so comes in a later poll. */
    private static String transform(String value) {
        if (value.equals("b") && !failed) {
            failed = true;
            send("d");
            throw new IllegalStateException("b cannot be transformed now");
        }
        if (value.equals("d")) {
            send("end");
        }
        if (value.equals("end") && !done) {
            done = true;
            throw new Done();
        }
        return value.toUpperCase();
    }

    private static Map<TopicPartition, OffsetAndMetadata> currentOffsets(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        records.forEach(record -> offsets.put(
                new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1)));
        return offsets;
    }

    private static void loop() {
        Properties consumerProps = new Properties();
        consumerProps.put("bootstrap.servers", ADDRESS);
        consumerProps.put("group.id", "transactional-snippets");
        consumerProps.put("auto.offset.reset", "earliest");
        consumerProps.put("enable.auto.commit", "false");
        consumerProps.put("isolation.level", "read_committed");
        consumerProps.put("key.deserializer", StringDeserializer.class.getName());
        consumerProps.put("value.deserializer", StringDeserializer.class.getName());
        Properties producerProps = new Properties();
        producerProps.put("bootstrap.servers", ADDRESS);
        producerProps.put("enable.idempotence", "true");
        producerProps.put("transactional.id", "read-process-write");
        producerProps.put("key.serializer", StringSerializer.class.getName());
        producerProps.put("value.serializer", StringSerializer.class.getName());
        /* snippet */
    }

    private static void run() {
        try {
            loop();
        } catch (Done expected) {
            System.out.println("done");
        } catch (ProducerFencedException escaped) {
            System.out.println("fenced while it aborted");
        } finally {
            KafkaProducer.closeAll();
            KafkaConsumer.MADE.forEach(KafkaConsumer::close);
        }
    }

    public static void main(String[] arguments) {
        run();
        KafkaProducer.beforeCommit = KafkaProducer::takeOver;
        send("e");
        run();
    }
}

import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs the snippet three times: it commits; another instance takes over before it does; the program fails before it does. */
public class UseTransaction {
    private static void run(long offset) {
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(new TopicPartition("raw-orders", 0), new OffsetAndMetadata(offset));
        Map<TopicPartition, OffsetAndMetadata> offsetsMap = offsets;
        ConsumerGroupMetadata consumerGroupMetadata = new ConsumerGroupMetadata("transactional-snippets");
        String orderId = "order-" + offset;
        String orderJson = "{\"id\": " + offset + "}";
        String auditJson = "{\"created\": " + offset + "}";
        String productId = "product-" + offset;
        long quantity = offset;
        String key = orderId;
        String value = orderJson;
        /* snippet */
    }

    public static void main(String[] arguments) {
        try {
            run(1);
            KafkaProducer.beforeCommit = KafkaProducer::takeOver;
            run(2);
            KafkaProducer.beforeCommit = () -> {
                throw new KafkaException("the program has failed");
            };
            run(3);
        } finally {
            KafkaProducer.closeAll();
        }
    }
}

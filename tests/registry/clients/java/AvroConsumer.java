import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints as many orders of a topic as it is told to: bootstrap servers, registry, topic, count. */
public class AvroConsumer {
    public static void main(String[] arguments) {
        Properties props = new Properties();
        props.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        props.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
        props.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, KafkaAvroDeserializer.class);
        props.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        props.put(ConsumerConfig.GROUP_ID_CONFIG, "avro-consumer-" + arguments[2]);
        props.put("schema.registry.url", arguments[1]);
        int left = Integer.parseInt(arguments[3]);
        try (KafkaConsumer<String, GenericRecord> consumer = new KafkaConsumer<>(props)) {
            consumer.subscribe(List.of(arguments[2]));
            while (left > 0) {
                for (ConsumerRecord<String, GenericRecord> record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println(record.key() + " " + record.value().getSchema().getFullName() + " " + record.value());
                    left--;
                }
            }
        }
    }
}

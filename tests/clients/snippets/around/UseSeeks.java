import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Shows where the consumer is after each of the snippet's seeks. */
public class UseSeeks {
    private static void show(KafkaConsumer<String, String> consumer) {
        List<Long> positions = consumer.assignment().stream()
                .sorted((one, other) -> one.partition() - other.partition()).map(consumer::position).toList();
        System.out.println(positions);
    }

    public static void main(String[] arguments) throws Exception {
        try (Group group = new Group("seekers"); KafkaConsumer<String, String> consumer = group.member(group.settings())) {
            int found = 0;
            while (found < 6) {
                found += consumer.poll(Duration.ofMillis(100)).count();
            }
            show(consumer);
            /* snippet */
        }
    }
}

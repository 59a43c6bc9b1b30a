import java.time.Duration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Runs the snippet's loop until processing fails at the third record, then again until the record "last". */
public class UseProcessLoop {
    private static final class CannotProcess extends RuntimeException {
    }

    private static boolean failed = false;

    private static void process(ConsumerRecord<String, String> record) {
        if (record.value().equals("2") && !failed) {
            failed = true;
            throw new CannotProcess();
        }
        System.out.println(record.value());
        if (record.value().equals("last")) {
            throw new CannotProcess();
        }
    }

    private static void loop(KafkaConsumer<String, String> consumer) {
        /* snippet */
    }

    private static void run(Group group) {
        try (KafkaConsumer<String, String> consumer = group.member(group.settings())) {
            loop(consumer);
        } catch (CannotProcess expected) {
            System.out.println("failed");
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Group group = new Group("loops")) {
            run(group);
            group.send(0, "last");
            run(group);
        }
    }
}

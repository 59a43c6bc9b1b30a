import java.time.Duration;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Commits three records, then tries to commit when the group has removed the member. */
public class UseCommitAsync {
    private static final class Log {
        private int warnings;

        void warn(String format, Object... values) {
            warnings++;
            System.out.println("warned: " + values[1]);
        }
    }

    private static final Log log = new Log();

    private static void commit(KafkaConsumer<String, String> consumer) {
        /* snippet */
    }

    public static void main(String[] arguments) throws Exception {
        try (Group group = new Group("async-committers");
                KafkaConsumer<String, String> consumer = group.member(group.settings())) {
            int found = 0;
            while (found < 3) {
                found += consumer.poll(Duration.ofMillis(100)).count();
            }
            commit(consumer);
            Group.await(3L, () -> {
                consumer.poll(Duration.ZERO);
                return group.committed();
            });
            System.out.println("committed, warnings: " + log.warnings);

            group.removeMembers();
            commit(consumer);
            Group.await(1, () -> {
                consumer.poll(Duration.ofMillis(10));
                return log.warnings;
            });
        }
    }
}

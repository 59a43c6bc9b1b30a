import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Hands five records to a thread that dies before it processes them; and, in another group, processes them in the loop itself. */
public class UseAutoCommit {
    private static Properties settings(Group group) {
        Properties props = group.settings();
        props.put("auto.commit.interval.ms", "10");
        /* snippet */
        return props;
    }

    private static void handOff(Group group) throws Exception {
        CountDownLatch slow = new CountDownLatch(1);
        ExecutorService worker = Executors.newSingleThreadExecutor();
        try (KafkaConsumer<String, String> consumer = group.member(settings(group))) {
            while (group.committed() < 5) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    worker.submit(() -> {
                        slow.await();
                        System.out.println("handed off: " + record.value());
                        return null;
                    });
                }
            }
        }
        worker.shutdownNow(); // the crash
    }

    /** Reads to the record "last" in one thread; tells whether a record was committed before it was processed. */
    private static void inTheLoop(Group group, String label) throws Exception {
        Properties settings = settings(group);
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1);
        boolean early = false;
        String value = "";
        try (KafkaConsumer<String, String> consumer = group.member(settings)) {
            while (!value.equals("last")) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    Thread.sleep(20); // longer than auto.commit.interval.ms
                    early |= group.committed() > record.offset();
                    value = record.value();
                    System.out.println(label + ": " + value);
                }
            }
        }
        System.out.println(label + (early ? ": committed early" : ": committed in time"));
    }

    public static void main(String[] arguments) throws Exception {
        try (Group group = new Group("hand-off"); Group other = new Group("in-the-loop")) {
            handOff(group);
            group.send(0, "last");
            inTheLoop(group, "after the crash");
            inTheLoop(other, "in the loop");
        }
    }
}

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** The producer that the snippets use: it tells how a transaction ends, and lets a program step in before it is committed. */
class KafkaProducer<K, V> extends org.apache.kafka.clients.producer.KafkaProducer<K, V> {
    static final List<KafkaProducer<?, ?>> MADE = new ArrayList<>();
    static Runnable beforeCommit = () -> { };

    private final Properties settings;

    KafkaProducer(Properties settings) {
        super(settings);
        this.settings = settings;
        MADE.add(this);
    }

    @Override
    public void commitTransaction() {
        beforeCommit.run();
        super.commitTransaction();
        System.out.println("committed");
    }

    @Override
    public void abortTransaction() {
        super.abortTransaction();
        System.out.println("aborted");
    }

    @Override
    public void close() {
        super.close();
        System.out.println("closed");
    }

    /** A second instance with the same settings, and so with the same transactional id, takes over. */
    static void takeOver() {
        beforeCommit = () -> { };
        Properties settings = MADE.get(MADE.size() - 1).settings;
        try (var second = new org.apache.kafka.clients.producer.KafkaProducer<String, String>(settings)) {
            second.initTransactions();
        }
    }

    static void closeAll() {
        MADE.forEach(each -> each.close(java.time.Duration.ZERO));
    }
}

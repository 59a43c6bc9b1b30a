import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers that write transactions with kafka-clients, which on a broker with transaction.version 2 are those of KIP-890.
 *
 * <p>TransactionWriter BROKERS TOPIC PARTITIONS PRODUCERS TRANSACTIONS RECORDS SIZE PREFIX -> "SECONDS"
 *
 * <p>Each producer is a thread and writes TRANSACTIONS one after the other; a quarter as many before are not timed, so that
 * the JVM has compiled what it runs.
 */
public final class TransactionWriter {
    public static void main(String[] arguments) throws Exception {
        int partitions = Integer.parseInt(arguments[2]);
        int producers = Integer.parseInt(arguments[3]);
        int transactions = Integer.parseInt(arguments[4]);
        int records = Integer.parseInt(arguments[5]);
        byte[] value = new byte[Integer.parseInt(arguments[6])];
        AtomicLong started = new AtomicLong();
        CyclicBarrier ready = new CyclicBarrier(producers, () -> started.set(System.nanoTime()));
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            int first = number;
            Thread thread = new Thread(() -> {
                try (KafkaProducer<byte[], byte[]> producer = producer(arguments[0], arguments[7] + "-" + first)) {
                    producer.initTransactions();
                    long sent = first; // so that not all begin with the same partition
                    for (int written = -(transactions / 4); written < transactions; written++) {
                        if (written == 0) {
                            ready.await();
                        }
                        producer.beginTransaction();
                        for (int i = 0; i < records; i++) {
                            producer.send(new ProducerRecord<>(arguments[1], (int) (sent++ % partitions), null, value));
                        }
                        // In 4.3.0 a commit of version 2 can overtake records that were sent right before it: the broker then
                        // has no transaction to end and says so (INVALID_TXN_STATE). What is flushed is not overtaken.
                        producer.flush();
                        producer.commitTransaction();
                    }
                } catch (Exception failure) {
                    failure.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.printf("%.6f%n", (System.nanoTime() - started.get()) / 1e9);
    }

    private static KafkaProducer<byte[], byte[]> producer(String brokers, String transactionalId) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", brokers);
        settings.put("transactional.id", transactionalId);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
}

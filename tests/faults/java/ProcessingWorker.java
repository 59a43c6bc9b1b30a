import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What processing_worker.py does, by Java's clients and so with transactions v2 (KIP-890). Ends by SIGKILL, or when fenced. */
public final class ProcessingWorker {
    private static final int FENCED = 3;
    private static final long PROCESS = ProcessHandle.current().pid();

    private final String name;
    private final String target;
    private final Path history;
    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private int transaction = 0;

    public static void main(String[] arguments) throws Exception {
        try {
            new ProcessingWorker(arguments).run(arguments[1]);
        } catch (KafkaException problem) {
            problem.printStackTrace();
            Runtime.getRuntime().halt(FENCED);
        }
    }

    /** Bootstrap servers, input, output, group, history, number. */
    private ProcessingWorker(String[] arguments) {
        target = arguments[2];
        history = Path.of(arguments[4]);
        name = "worker-" + arguments[5];
        Map<String, Object> client = new HashMap<>();
        client.put("bootstrap.servers", arguments[0]);
        client.put("client.id", name + "-" + PROCESS);
        client.put("reconnect.backoff.ms", 20);
        client.put("reconnect.backoff.max.ms", 100);
        client.put("retry.backoff.ms", 20);
        client.put("retry.backoff.max.ms", 200);
        // Starting anew from the bootstrap servers would cost seconds at each kill.
        client.put("metadata.recovery.strategy", "none");
        Map<String, Object> producing = new HashMap<>(client);
        producing.put("transactional.id", name);
        producing.put("max.block.ms", 30_000);
        producer = new KafkaProducer<>(producing, new ByteArraySerializer(), new ByteArraySerializer());
        Map<String, Object> consuming = new HashMap<>(client);
        consuming.put("group.id", arguments[3]);
        consuming.put("enable.auto.commit", false);
        consuming.put("isolation.level", "read_committed");
        consuming.put("auto.offset.reset", "earliest");
        consuming.put("max.poll.records", 20);
        consuming.put("session.timeout.ms", 3_000);
        consuming.put("heartbeat.interval.ms", 300);
        consumer = new KafkaConsumer<>(consuming, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void tell(String what) {
        try {
            String line = String.format(
                    "{\"at\": %.6f, \"worker\": \"%s\", \"process\": %d, \"transaction\": %d, \"what\": \"%s\"}%n",
                    System.nanoTime() / 1e9, name, PROCESS, transaction, what);
            Files.writeString(history, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (java.io.IOException problem) {
            throw new java.io.UncheckedIOException(problem);
        }
    }

    private void run(String source) throws Exception {
        tell("starts");
        producer.initTransactions();
        consumer.subscribe(List.of(source), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                tell("rebalances");
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
        });
        while (true) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
            Files.setLastModifiedTime(history, FileTime.fromMillis(System.currentTimeMillis()));
            if (!records.isEmpty()) {
                process(records);
            }
        }
    }

    private void process(ConsumerRecords<byte[], byte[]> records) {
        transaction++;
        tell("begins");
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(target, record.value(), record.value()));
                offsets.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            tell("commits");
            commit();
            tell("has committed");
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException problem) {
            tell("is fenced");
            throw problem;
        } catch (KafkaException problem) {
            tell("fails: " + problem.getClass().getSimpleName());
            producer.abortTransaction();
            rewind();
            tell("has aborted");
        }
    }

    /** After a time-out only the same call may follow. */
    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException problem) {
                tell("repeats");
            }
        }
    }

    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            if (offset == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, offset);
            }
        }
    }
}

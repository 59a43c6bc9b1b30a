import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A group that reads the topic orders, as an administrator sees it; and what the programs around the snippets need beside. */
final class Group implements AutoCloseable {
    private static final String ADDRESS = "broker1:9092";
    private static final Duration WAIT = Duration.ofSeconds(20);

    final String id;
    private final Admin admin = Admin.create(Map.of("bootstrap.servers", ADDRESS));
    private final KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", ADDRESS), new StringSerializer(), new StringSerializer());

    Group(String id) {
        this.id = id;
    }

    /** Settings of a member that reads from the beginning and commits by hand. */
    Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", ADDRESS);
        settings.put("group.id", id);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return settings;
    }

    KafkaConsumer<String, String> member(Properties settings) {
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of("orders"));
        return consumer;
    }

    void send(int partition, String value) throws Exception {
        producer.send(new ProducerRecord<>("orders", partition, null, value)).get();
    }

    /** The committed offsets of all partitions, added up. */
    long committed() throws Exception {
        return admin.listConsumerGroupOffsets(id).partitionsToOffsetAndMetadata().get().values().stream()
                .mapToLong(each -> each.offset()).sum();
    }

    /** How many partitions each member has, fewest first. */
    List<Integer> shares() throws Exception {
        return admin.describeConsumerGroups(List.of(id)).all().get().get(id).members().stream()
                .map(each -> each.assignment().topicPartitions().size()).sorted().toList();
    }

    void removeMembers() throws Exception {
        admin.removeMembersFromConsumerGroup(id, new RemoveMembersFromConsumerGroupOptions()).all().get();
    }

    static <T> void await(T wanted, Callable<T> ask) throws Exception {
        long deadline = System.nanoTime() + WAIT.toNanos();
        T found;
        while (!(found = ask.call()).equals(wanted)) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("waited for " + wanted + " and found " + found);
            }
            Thread.sleep(10);
        }
    }

    @Override
    public void close() {
        producer.close();
        admin.close();
    }
}

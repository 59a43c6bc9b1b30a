import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Kafka Streams as an application would use it, exactly once, from topic to topic: what stoker.streams is measured beside.
 *
 * <p>StreamsPeer filter|revenue|join|count-keys --bootstrap-servers A --application-id I --threads N --state-dir D --input T --table T
 * --output T; any other option is a setting of Kafka Streams, with dashes for its dots: --commit-interval-ms 1000.
 *
 * <p>Orders and customers are Avro behind Confluent's five bytes, keyed by customer. Written are: by filter, the order's own bytes; by
 * revenue, the sum (double), the count (long) and the start of the hour (long), big-endian; by join, an Avro record of the order's
 * fields, name and tier, behind the order's five bytes; by count-keys, sum and count.
 *
 * <p>It prints RUNNING when it first is, and RESTORED with the milliseconds that this took. SIGTERM closes it.
 */
public final class StreamsPeer {
    private final StreamsBuilder builder = new StreamsBuilder();
    private final Properties properties = new Properties();
    private String input = "orders";
    private String table = "customers";
    private String output;

    public static void main(String[] arguments) {
        StreamsPeer peer = new StreamsPeer(arguments);
        peer.build(arguments[0]);
        peer.run();
    }

    private StreamsPeer(String[] arguments) {
        output = arguments[0];
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        for (int i = 1; i < arguments.length; i += 2) {
            String value = arguments[i + 1];
            switch (arguments[i]) {
                case "--input" -> input = value;
                case "--table" -> table = value;
                case "--output" -> output = value;
                case "--threads" -> properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, value);
                default -> properties.put(arguments[i].substring(2).replace('-', '.'), value);
            }
        }
    }

    private void run() {
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        long started = System.nanoTime();
        AtomicBoolean hasRun = new AtomicBoolean();
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING && hasRun.compareAndSet(false, true)) {
                System.out.printf("RUNNING%nRESTORED %d%n", (System.nanoTime() - started) / 1_000_000);
            }
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        // Out of the group as well, or whoever comes next waits until its session has timed out.
        CloseOptions leaving = CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(leaving)));
        streams.start();
    }

    // -- the topologies --------------------------------------------------------------------------------------------------

    private void build(String topology) {
        switch (topology) {
            case "filter" -> filter();
            case "revenue" -> revenue();
            case "join" -> join();
            case "count-keys" -> countKeys();
            default -> throw new IllegalArgumentException(topology + " is none of filter, revenue, join, count-keys");
        }
    }

    private void filter() {
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.ByteArray()))
                .filter((customer, value) -> Order.SERDE.deserializer().deserialize(input, value).amount > 500)
                .to(output, Produced.with(Serdes.String(), Serdes.ByteArray()));
    }

    private void revenue() {
        orders().groupByKey(Grouped.with(Serdes.String(), Order.SERDE))
                .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofHours(1), Duration.ofMinutes(5)))
                .aggregate(
                        () -> Sums.ZERO,
                        (customer, order, sums) -> sums.with(order),
                        Materialized.<String, Sums, WindowStore<Bytes, byte[]>>as("revenue")
                                .withKeySerde(Serdes.String())
                                .withValueSerde(Sums.SERDE))
                .toStream()
                .map((window, sums) -> KeyValue.pair(
                        window.key(),
                        ByteBuffer.allocate(24).put(sums.bytes()).putLong(window.window().start()).array()))
                .to(output, Produced.with(Serdes.String(), Serdes.ByteArray()));
    }

    private void join() {
        orders().join(
                        builder.table(table, Consumed.with(Serdes.String(), Customer.SERDE)),
                        (order, customer) -> order.avro(customer.name, customer.tier),
                        Joined.with(Serdes.String(), Order.SERDE, Customer.SERDE))
                .to(output, Produced.with(Serdes.String(), Serdes.ByteArray()));
    }

    private void countKeys() {
        orders().groupByKey(Grouped.with(Serdes.String(), Order.SERDE))
                .aggregate(
                        () -> Sums.ZERO,
                        (customer, order, sums) -> sums.with(order),
                        Materialized.<String, Sums, KeyValueStore<Bytes, byte[]>>as("keys")
                                .withKeySerde(Serdes.String())
                                .withValueSerde(Sums.SERDE))
                .toStream()
                .to(output, Produced.with(Serdes.String(), Sums.SERDE));
    }

    private KStream<String, Order> orders() {
        return builder.stream(input, Consumed.with(Serdes.String(), Order.SERDE));
    }

    // -- the values ------------------------------------------------------------------------------------------------------

    private record Order(int schemaId, String orderId, String customerId, double amount, String region, long timestamp) {
        static final Serde<Order> SERDE = Serdes.serdeFrom(
                (topic, order) -> order == null ? null : order.avro(),
                (topic, bytes) -> bytes == null ? null : parse(new Avro(bytes)));

        static Order parse(Avro avro) {
            return new Order(avro.schemaId(), avro.string(), avro.string(), avro.number(), avro.string(), avro.integer());
        }

        /** With more fields of text after its own. */
        byte[] avro(String... more) {
            Avro avro = new Avro(schemaId).put(orderId).put(customerId).put(amount).put(region).put(timestamp);
            for (String each : more) {
                avro.put(each);
            }
            return avro.written();
        }
    }

    private record Customer(int schemaId, String customerId, String name, String tier) {
        static final Serde<Customer> SERDE = Serdes.serdeFrom(
                (topic, customer) -> customer == null ? null : customer.avro(),
                (topic, bytes) -> bytes == null ? null : parse(new Avro(bytes)));

        static Customer parse(Avro avro) {
            return new Customer(avro.schemaId(), avro.string(), avro.string(), avro.string());
        }

        byte[] avro() {
            return new Avro(schemaId).put(customerId).put(name).put(tier).written();
        }
    }

    private record Sums(double amount, long count) {
        static final Sums ZERO = new Sums(0, 0);
        static final Serde<Sums> SERDE = Serdes.serdeFrom(
                (topic, sums) -> sums == null ? null : sums.bytes(),
                (topic, bytes) -> {
                    if (bytes == null) {
                        return null;
                    }
                    ByteBuffer buffer = ByteBuffer.wrap(bytes);
                    return new Sums(buffer.getDouble(), buffer.getLong());
                });

        Sums with(Order order) {
            return new Sums(amount + order.amount, count + 1);
        }

        byte[] bytes() {
            return ByteBuffer.allocate(16).putDouble(amount).putLong(count).array();
        }
    }

    /** Avro's binary encoding, of the types that are needed here, behind Confluent's magic byte and schema id. */
    private static final class Avro {
        private static final int MOST_BYTES = 1024;

        private final ByteBuffer buffer;

        Avro(byte[] bytes) {
            buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        }

        Avro(int schemaId) {
            this(new byte[MOST_BYTES]);
            buffer.put((byte) 0).putInt(Integer.reverseBytes(schemaId));
        }

        int schemaId() {
            buffer.get();
            return Integer.reverseBytes(buffer.getInt());
        }

        String string() {
            int length = (int) integer();
            String text = new String(buffer.array(), buffer.position(), length, StandardCharsets.UTF_8);
            buffer.position(buffer.position() + length);
            return text;
        }

        double number() {
            return buffer.getDouble();
        }

        long integer() {
            long zigzag = 0;
            for (int shift = 0; ; shift += 7) {
                long next = buffer.get();
                zigzag |= (next & 0x7F) << shift;
                if (next >= 0) {
                    return zigzag >>> 1 ^ -(zigzag & 1);
                }
            }
        }

        Avro put(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            put(bytes.length);
            buffer.put(bytes);
            return this;
        }

        Avro put(double number) {
            buffer.putDouble(number);
            return this;
        }

        Avro put(long integer) {
            long zigzag = integer << 1 ^ integer >> 63;
            for (; (zigzag & ~0x7FL) != 0; zigzag >>>= 7) {
                buffer.put((byte) (zigzag & 0x7F | 0x80));
            }
            buffer.put((byte) zigzag);
            return this;
        }

        byte[] written() {
            return Arrays.copyOf(buffer.array(), buffer.position());
        }
    }
}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStore;

/** Records piped through one topology, and what came of them. After its first error nothing more of it is done. */
final class Case {
    final int number;
    private final Path stateDirectory;
    private final String application;
    private final List<ObjectNode> results = new ArrayList<>();
    private TopologyTestDriver driver;
    private String error;
    private int inputs;

    Case(int number, Path stateDirectory) {
        this.number = number;
        this.stateDirectory = stateDirectory;
        application = "case-" + number;
    }

    void begin(String name) {
        guarded(() -> driver = new TopologyTestDriver(Topologies.named(name), properties()));
    }

    void pipe(JsonNode record) {
        guarded(() -> {
            driver.createInputTopic(record.get("topic").asText(), new StringSerializer(), new Json.Serde().serializer())
                    .pipeInput(
                            Json.text(record, "key"),
                            record.hasNonNull("value") ? record.get("value") : null,
                            record.get("timestamp").asLong());
            collectRecords();
            inputs++;
        });
    }

    List<ObjectNode> end() {
        guarded(() -> driver.getAllStateStores().forEach(this::collectStore));
        close();
        if (error != null) {
            return List.of(Json.object("error", error));
        }
        results.add(Json.object("end", true));
        return results;
    }

    private Properties properties() {
        Properties properties = Topologies.properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nobody:1");
        properties.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0); // so that every update is seen
        // Left and outer joins look for what has found no partner only once a second of the wall clock, which stands still here.
        properties.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0L);
        return properties;
    }

    /** The records of one input: of each topic in the order in which they were sent, the topics by name. */
    private void collectRecords() {
        for (String topic : new TreeSet<>(driver.producedTopicNames())) {
            if (topic.startsWith(application + "-")) {
                continue; // changelogs and repartition topics
            }
            TestOutputTopic<String, JsonNode> output =
                    driver.createOutputTopic(topic, new StringDeserializer(), new Json.Serde().deserializer());
            output.readRecordsToList().forEach(record -> results.add(Json.object(
                    "topic", topic, "key", record.key(), "value", record.value(), "timestamp", record.timestamp(), "input", inputs)));
        }
    }

    @SuppressWarnings("unchecked")
    private void collectStore(String name, StateStore store) {
        if (name.matches("KSTREAM-.*|KTABLE-.*|.*-STATE-STORE-\\d+")) {
            return; // Kafka Streams named it
        }
        try (KeyValueIterator<?, ?> entries = store instanceof SessionStore
                ? ((SessionStore<String, ?>) store).fetch(null, null)
                : store instanceof WindowStore
                        ? ((WindowStore<String, ?>) store).all()
                        : ((KeyValueStore<String, ?>) store).all()) {
            entries.forEachRemaining(entry -> results.add(entry.key instanceof Windowed<?> windowed
                    ? stored(name, windowed.key(), windowed.window().start(), windowed.window().end(), entry.value)
                    : stored(name, entry.key, null, null, entry.value)));
        }
    }

    private static ObjectNode stored(String store, Object key, Long windowStart, Long windowEnd, Object value) {
        return Json.object(
                "store", store,
                "key", key,
                "window_start", windowStart,
                "window_end", windowEnd,
                "value", value instanceof ValueAndTimestamp<?> stamped ? stamped.value() : value);
    }

    private void close() {
        try {
            if (driver != null) {
                driver.close();
            }
        } catch (RuntimeException failure) {
            error = error != null ? error : failure.toString(); // what has failed may fail again as it is closed
        }
    }

    private void guarded(Runnable step) {
        if (error != null) {
            return;
        }
        try {
            step.run();
        } catch (RuntimeException failure) {
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            error = cause + (cause == failure ? "" : ", in " + failure);
        }
    }
}

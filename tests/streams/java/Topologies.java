import static java.util.Map.entry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Topologies of Kafka Streams by name: what stoker.streams is compared with. Keys are text, values are JSON objects as text.
 *
 * <p>Topologies driver [NAME]: pipe records through them without a broker, see {@link Driver};
 * Topologies run NAME --bootstrap-servers A --application-id I ...: run one against a broker, see {@link Application}.
 *
 * <p>A result of a window is written under its plain key, as {"key", "window_start", "window_end", ...} with times in
 * milliseconds. A session that a merge has deleted is {"key", "window_start", "window_end", "tombstone": true}, since a null would
 * not say which. Everywhere else a tombstone is null.
 */
public final class Topologies {
    private static final ValueJoiner<JsonNode, JsonNode, JsonNode> ORDER_AND_CUSTOMER = pair("order", "customer");
    private static final ValueJoiner<JsonNode, JsonNode, JsonNode> ORDER_AND_PAYMENT = pair("order", "payment");
    private static final ValueJoiner<JsonNode, JsonNode, JsonNode> LEFT_AND_RIGHT = pair("left", "right");

    private static final Map<String, Consumer<StreamsBuilder>> BY_NAME = Map.ofEntries(
            entry("word-count", Topologies::wordCount),
            entry("order-processing", Topologies::orderProcessing),
            entry("merge", Topologies::merge),
            entry("stateful", Topologies::stateful),
            entry("rekey", Topologies::rekey),
            // Windows
            entry("hourly-revenue", builder -> revenue(builder, "hourly-revenue", hours(1, minutes(5)))),
            entry("hourly-no-grace", builder -> revenue(builder, "hourly-no-grace", hours(1, Duration.ZERO))),
            entry("hopping", Topologies::hopping),
            entry("sliding", Topologies::sliding),
            entry("sessions", Topologies::sessions),
            entry("sessions-with-grace", Topologies::sessionsWithGrace),
            entry("suppressed", Topologies::suppressed),
            entry("region-per-minute", Topologies::regionPerMinute),
            entry("average-order-value", Topologies::averageOrderValue),
            // Streams joined with tables
            entry("enrichment", builder -> orders(builder)
                    .leftJoin(builder.table("customers"), ORDER_AND_CUSTOMER)
                    .to("enriched")),
            entry("enrichment-inner", builder -> orders(builder)
                    .join(builder.table("customers"), ORDER_AND_CUSTOMER)
                    .to("enriched")),
            entry("global-enrichment", Topologies::globalEnrichment),
            // Streams joined with streams
            entry("matching-payments", builder -> orders(builder)
                    .join(payments(builder), ORDER_AND_PAYMENT, JoinWindows.ofTimeDifferenceWithNoGrace(minutes(5)))
                    .to("matched")),
            entry("matching-left", builder -> orders(builder)
                    .leftJoin(payments(builder), ORDER_AND_PAYMENT, withinAMinute())
                    .to("matched")),
            entry("matching-outer", builder -> orders(builder)
                    .outerJoin(payments(builder), ORDER_AND_PAYMENT, withinAMinute())
                    .to("matched")),
            // Tables joined with tables
            entry("table-table", tables(KTable::join)),
            entry("table-table-left", tables(KTable::leftJoin)),
            entry("table-table-outer", tables(KTable::outerJoin)),
            entry("foreign-key", builder -> table(builder, "orders")
                    .join(table(builder, "customers"), Topologies::customer, ORDER_AND_CUSTOMER)
                    .toStream()
                    .to("enriched")),
            entry("foreign-key-left", builder -> table(builder, "orders")
                    .leftJoin(table(builder, "customers"), Topologies::customer, ORDER_AND_CUSTOMER)
                    .toStream()
                    .to("enriched")),
            // Tables
            entry("table-filter", builder -> table(builder, "orders")
                    .filter((key, order) -> Json.amount(order) > 100, Materialized.as("large-orders-store"))
                    .toStream()
                    .to("large-orders")),
            entry("table-map", builder -> table(builder, "orders")
                    .mapValues(order -> Json.object("doubled", 2 * Json.amount(order)))
                    .toStream()
                    .mapValues(value -> (JsonNode) value)
                    .to("doubled-orders")),
            entry("table-group", Topologies::tableGroup));

    public static void main(String[] arguments) throws Exception {
        List<String> rest = List.of(arguments).subList(1, arguments.length);
        switch (arguments[0]) {
            case "driver" -> Driver.run(rest);
            case "run" -> Application.run(rest);
            default -> throw new IllegalArgumentException(arguments[0] + " is neither driver nor run");
        }
    }

    static Topology named(String name) {
        if (!BY_NAME.containsKey(name)) {
            throw new IllegalArgumentException("no topology " + name + " in " + BY_NAME.keySet().stream().sorted().toList());
        }
        StreamsBuilder builder = new StreamsBuilder();
        BY_NAME.get(name).accept(builder);
        return builder.build();
    }

    /** What all topologies need of the configuration, wherever they run. */
    static Properties properties() {
        Properties properties = new Properties();
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Json.Serde.class);
        return properties;
    }

    // -- without state ---------------------------------------------------------------------------------------------------

    /** orders {"priority", "amount", "items": [...]} -> enriched-orders, items and a topic for each priority. */
    private static void orderProcessing(StreamsBuilder builder) {
        KStream<String, JsonNode> orders = orders(builder);
        KStream<String, JsonNode> valid = orders.filter((key, order) -> order != null && !order.isEmpty());
        valid.mapValues(Topologies::withItemCount).to("enriched-orders");
        orders.flatMapValues(Topologies::items).to("items");
        Map<String, KStream<String, JsonNode>> branches = valid.split(Named.as("branch-"))
                .branch((key, order) -> "high".equals(Json.text(order, "priority")), Branched.as("high"))
                .branch((key, order) -> "low".equals(Json.text(order, "priority")), Branched.as("low"))
                .defaultBranch(Branched.as("normal"));
        branches.get("branch-high").to("high-priority-orders");
        branches.get("branch-low").to("low-priority-orders");
        branches.get("branch-normal").to("normal-priority-orders");
    }

    private static JsonNode withItemCount(JsonNode order) {
        return ((ObjectNode) order.deepCopy()).put("item_count", order.path("items").size());
    }

    private static List<JsonNode> items(JsonNode order) {
        return order == null
                ? List.of()
                : StreamSupport.stream(order.path("items").spliterator(), false)
                        .map(item -> (JsonNode) Json.object("item", item))
                        .toList();
    }

    private static void merge(StreamsBuilder builder) {
        KStream<String, JsonNode> here = builder.stream("orders-eu");
        here.merge(builder.stream("orders-us")).to("all-orders");
    }

    // -- with state ------------------------------------------------------------------------------------------------------

    /** text-input {"line"} -> word-counts {"count"}. */
    private static void wordCount(StreamsBuilder builder) {
        KStream<String, JsonNode> lines = builder.stream("text-input");
        writeCounts(
                lines.mapValues(value -> Json.text(value, "line"))
                        .flatMapValues(line ->
                                line == null ? List.<String>of() : Arrays.asList(line.toLowerCase().split("\\W+")))
                        .filter((key, word) -> word.length() > 0)
                        .groupBy((key, word) -> word, Grouped.valueSerde(Serdes.String()))
                        .count(Materialized.as("word-counts-store")),
                "word-counts");
    }

    /** order-events {"amount"} -> order-counts {"count"}, spend {"spend"} and max-order, the largest as it was. */
    private static void stateful(StreamsBuilder builder) {
        KStream<String, JsonNode> events = builder.stream("order-events");
        KGroupedStream<String, JsonNode> grouped = events.groupByKey();
        writeCounts(grouped.count(Materialized.as("order-count-store")), "order-counts");
        grouped.aggregate(
                        () -> 0.0,
                        (key, order, spend) -> spend + Json.amount(order),
                        Materialized.<String, Double, KeyValueStore<Bytes, byte[]>>as("spend-store")
                                .withValueSerde(Serdes.Double()))
                .toStream()
                .mapValues(spend -> (JsonNode) Json.object("spend", spend))
                .to("spend");
        grouped.reduce((largest, order) -> Json.amount(order) > Json.amount(largest) ? order : largest)
                .toStream()
                .to("max-order");
    }

    /** orders {"customer_id"} -> orders-per-customer {"count"}. */
    private static void rekey(StreamsBuilder builder) {
        writeCounts(
                orders(builder)
                        .selectKey((key, order) -> customer(order))
                        .groupByKey()
                        .count(Materialized.as("orders-per-customer-store")),
                "orders-per-customer");
    }

    private static void writeCounts(KTable<String, Long> counts, String topic) {
        counts.toStream().mapValues(count -> (JsonNode) Json.object("count", count)).to(topic);
    }

    // -- windows ---------------------------------------------------------------------------------------------------------

    private static void revenue(StreamsBuilder builder, String topic, TimeWindows windows) {
        KTable<Windowed<String>, JsonNode> revenue = orders(builder)
                .groupByKey()
                .windowedBy(windows)
                .aggregate(
                        () -> (JsonNode) Json.object("revenue", 0.0, "orders", 0),
                        (key, order, sums) -> Json.object(
                                "revenue", sums.get("revenue").asDouble() + Json.amount(order),
                                "orders", sums.get("orders").asLong() + 1),
                        store(topic + "-store"));
        writeWindowed(revenue, Function.identity(), topic);
    }

    private static void hopping(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupByKey()
                        .windowedBy(TimeWindows.ofSizeAndGrace(minutes(5), minutes(1)).advanceBy(minutes(1)))
                        .count(Materialized.as("hopping-store")),
                Topologies::count,
                "hopping");
    }

    private static void sliding(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupByKey()
                        .windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(seconds(30), seconds(10)))
                        .aggregate(() -> countAndSum(0, 0), (key, order, sums) -> added(sums, order, 1), store("sliding-store")),
                Function.identity(),
                "sliding");
    }

    private static void sessions(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupByKey()
                        .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(minutes(30)))
                        .count(Materialized.as("session-counts")),
                Topologies::count,
                "sessions");
    }

    private static void sessionsWithGrace(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupByKey()
                        .windowedBy(SessionWindows.ofInactivityGapAndGrace(seconds(10), seconds(5)))
                        .count(Materialized.as("sessions-with-grace-store")),
                Topologies::count,
                "sessions-with-grace");
    }

    private static void suppressed(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupByKey()
                        .windowedBy(TimeWindows.ofSizeAndGrace(minutes(1), seconds(10)))
                        .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("suppressed-store")
                                .withKeySerde(Serdes.String())) // which suppress needs: the default serde knows no windows
                        .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())),
                Topologies::count,
                "suppressed");
    }

    private static void regionPerMinute(StreamsBuilder builder) {
        writeWindowed(
                orders(builder)
                        .groupBy((key, order) -> Json.text(order, "region"))
                        .windowedBy(TimeWindows.ofSizeWithNoGrace(minutes(1)))
                        .count(Materialized.as("orders-per-minute")),
                Topologies::count,
                "region-per-minute");
    }

    private static void averageOrderValue(StreamsBuilder builder) {
        KTable<Windowed<String>, JsonNode> averages = orders(builder)
                .groupBy((key, order) -> Json.text(order, "region"))
                .windowedBy(TimeWindows.ofSizeAndGrace(minutes(5), seconds(30)).advanceBy(minutes(1)))
                .aggregate(() -> countAndSum(0, 0), (key, order, sums) -> added(sums, order, 1), store("order-stats-store"))
                .mapValues(sums -> Json.object("average", sums.get("sum").asDouble() / sums.get("count").asLong()));
        writeWindowed(averages, Function.identity(), "average-order-value");
    }

    /** The table's changes under their plain keys, with the window in the value. */
    private static <V> void writeWindowed(KTable<Windowed<String>, V> table, Function<V, JsonNode> fields, String topic) {
        table.toStream()
                .map((windowed, value) -> {
                    ObjectNode result = Json.object(
                            "key", windowed.key(),
                            "window_start", windowed.window().start(),
                            "window_end", windowed.window().end());
                    result.setAll((ObjectNode) (value == null ? Json.object("tombstone", true) : fields.apply(value)));
                    return KeyValue.pair(windowed.key(), (JsonNode) result);
                })
                .to(topic);
    }

    private static Materialized<String, JsonNode, WindowStore<Bytes, byte[]>> store(String name) {
        return Materialized.as(name);
    }

    // -- joins -----------------------------------------------------------------------------------------------------------

    private static void globalEnrichment(StreamsBuilder builder) {
        orders(builder)
                .join(
                        builder.<String, JsonNode>globalTable("regions"),
                        (key, order) -> Json.text(order, "region"),
                        pair("order", "region"))
                .to("enriched");
    }

    /** left and right -> joined {"left", "right"}. */
    private static Consumer<StreamsBuilder> tables(TableJoin join) {
        return builder -> join.of(table(builder, "left"), table(builder, "right"), LEFT_AND_RIGHT).toStream().to("joined");
    }

    private interface TableJoin {
        KTable<String, JsonNode> of(
                KTable<String, JsonNode> left, KTable<String, JsonNode> right, ValueJoiner<JsonNode, JsonNode, JsonNode> joiner);
    }

    private static ValueJoiner<JsonNode, JsonNode, JsonNode> pair(String left, String right) {
        return (one, other) -> Json.object(left, one, right, other);
    }

    private static JoinWindows withinAMinute() {
        return JoinWindows.ofTimeDifferenceAndGrace(minutes(1), seconds(30));
    }

    // -- tables ----------------------------------------------------------------------------------------------------------

    /** users {"region", "amount"} -> users-by-region {"count", "sum"}. */
    private static void tableGroup(StreamsBuilder builder) {
        table(builder, "users")
                .groupBy((key, user) -> KeyValue.pair(Json.text(user, "region"), user))
                .aggregate(
                        () -> countAndSum(0, 0),
                        (region, user, sums) -> added(sums, user, 1),
                        (region, user, sums) -> added(sums, user, -1),
                        Materialized.as("users-by-region-store"))
                .toStream()
                .to("users-by-region");
    }

    // -- parts -----------------------------------------------------------------------------------------------------------

    private static KStream<String, JsonNode> orders(StreamsBuilder builder) {
        return builder.stream("orders");
    }

    private static KStream<String, JsonNode> payments(StreamsBuilder builder) {
        return builder.stream("payments");
    }

    private static KTable<String, JsonNode> table(StreamsBuilder builder, String topic) {
        return builder.table(topic);
    }

    private static String customer(JsonNode order) {
        return Json.text(order, "customer_id");
    }

    private static JsonNode count(Long count) {
        return Json.object("count", count);
    }

    private static JsonNode countAndSum(long count, double sum) {
        return Json.object("count", count, "sum", sum);
    }

    /** With the amount of one more, or, where the sign is -1, of one less. */
    private static JsonNode added(JsonNode sums, JsonNode value, int sign) {
        return countAndSum(sums.get("count").asLong() + sign, sums.get("sum").asDouble() + sign * Json.amount(value));
    }

    private static TimeWindows hours(int hours, Duration grace) {
        return TimeWindows.ofSizeAndGrace(Duration.ofHours(hours), grace);
    }

    private static Duration minutes(int minutes) {
        return Duration.ofMinutes(minutes);
    }

    private static Duration seconds(int seconds) {
        return Duration.ofSeconds(seconds);
    }
}

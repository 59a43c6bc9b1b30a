import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serdes;

/** Values of records: a JSON object as text, or null. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** Made by Kafka Streams, as the serde of all values that are not given another. */
    public static final class Serde extends Serdes.WrapperSerde<JsonNode> {
        public Serde() {
            super(
                    (topic, value) -> value == null ? null : bytes(value),
                    (topic, bytes) -> bytes == null ? null : parse(bytes));
        }
    }

    /** An object of names and values in turn. */
    static ObjectNode object(Object... namesAndValues) {
        ObjectNode object = MAPPER.createObjectNode();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            object.set((String) namesAndValues[i], MAPPER.valueToTree(namesAndValues[i + 1]));
        }
        return object;
    }

    /** A field as text; null where there is none. */
    static String text(JsonNode value, String field) {
        return value == null || !value.hasNonNull(field) ? null : value.get(field).asText();
    }

    static double amount(JsonNode value) {
        return value == null ? 0 : value.path("amount").asDouble();
    }

    static JsonNode parse(byte[] bytes) {
        try {
            return MAPPER.readTree(bytes);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static byte[] bytes(JsonNode value) {
        try {
            return MAPPER.writeValueAsBytes(value);
        } catch (JsonProcessingException error) {
            throw new UncheckedIOException(error);
        }
    }
}

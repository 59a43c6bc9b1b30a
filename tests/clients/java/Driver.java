import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/**
 * The Java side of tests/clients: one JSON request a line on stdin, one JSON answer a line on stdout (see drivers/remote.py).
 * One JVM serves the whole session: the client operations, Kafka's command-line tools, and sources compiled on the fly.
 */
public final class Driver {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final String TRANSACTIONS = "transactions_";

    interface Operation {
        Object run(JsonNode arguments) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever a library prints must not come between the answers
        ClientOperations client = new ClientOperations();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            answers.println(JSON.writeValueAsString(answer(client, request)));
            answers.flush();
        }
        client.close();
        System.exit(0); // threads that a tool left behind do not keep the process
    }

    private static Map<String, Object> answer(ClientOperations client, JsonNode request) {
        String name = request.get("operation").asText();
        try {
            Object result = switch (name) {
                case "tool" -> Tools.run(request);
                case "run_source" -> Sources.run(request);
                default -> name.startsWith(TRANSACTIONS)
                        ? client.transactions().run(name.substring(TRANSACTIONS.length()), request)
                        : client.operations().get(name).run(request);
            };
            return result == null ? java.util.Collections.singletonMap("result", null) : Map.of("result", result);
        } catch (Throwable error) {
            Throwable cause = error;
            while ((cause instanceof ExecutionException || cause instanceof CompletionException
                    || cause.getClass() == org.apache.kafka.common.KafkaException.class) && cause.getCause() != null) {
                cause = cause.getCause();
            }
            var told = new java.util.HashMap<String, Object>();
            told.put("code", brokerCode(cause));
            told.put("message", String.valueOf(cause.getMessage()));
            return Map.of("error", told);
        }
    }

    /** The code the broker sent; null for what the client found out by itself. */
    private static Integer brokerCode(Throwable error) {
        if (error instanceof OffsetOutOfRangeException) { // the consumer's own, which is no ApiException
            return (int) Errors.OFFSET_OUT_OF_RANGE.code();
        }
        if (!(error instanceof ApiException) || error instanceof org.apache.kafka.common.errors.TimeoutException) {
            return null;
        }
        Errors known = Errors.forException(error);
        return known == Errors.UNKNOWN_SERVER_ERROR ? null : (int) known.code();
    }
}

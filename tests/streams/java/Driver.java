import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Cases, one after the other, through Kafka's TopologyTestDriver. On stdin, a JSON object a line:
 *
 * <p>{"run": NAME} begins a case; {"topic", "key", "value", "timestamp"} pipes a record, and all that follows from it is done
 * before the next; {"end": true} ends the case, as do the next "run" and the end of the input. A NAME among the arguments begins
 * the first case.
 *
 * <p>At the end of a case, on stdout, each with "case", its number from 0: {"topic", "key", "value", "timestamp", "input"} for each
 * record of an output topic, in order, where "input" is the number of the record that it follows from; {"store", "key",
 * "window_start", "window_end", "value"} for each entry of a named store; at last {"end": true}, or {"error": TEXT} alone.
 */
final class Driver {
    private final PrintStream answers;
    private final Path stateDirectory;
    private int cases;
    private Case open;

    private Driver(PrintStream answers, Path stateDirectory) {
        this.answers = answers;
        this.stateDirectory = stateDirectory;
    }

    static void run(List<String> names) throws IOException {
        PrintStream stdout = System.out;
        System.setOut(System.err); // whatever a library prints must not come between the answers
        Path stateDirectory = Files.createTempDirectory("kafka-streams-driver-");
        stateDirectory.toFile().deleteOnExit();
        Driver driver = new Driver(new PrintStream(stdout, false, StandardCharsets.UTF_8), stateDirectory);
        names.forEach(driver::begin);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            driver.handle(Json.parse(line.getBytes(StandardCharsets.UTF_8)));
        }
        driver.end();
    }

    private void handle(JsonNode message) {
        if (message.has("run")) {
            begin(message.get("run").asText());
        } else if (message.has("end")) {
            end();
        } else {
            open.pipe(message);
        }
    }

    private void begin(String name) {
        end();
        open = new Case(cases++, stateDirectory);
        open.begin(name);
    }

    private void end() {
        if (open != null) {
            for (ObjectNode line : open.end()) {
                answers.println(new String(Json.bytes(line.put("case", open.number)), StandardCharsets.UTF_8));
            }
            answers.flush();
            open = null;
        }
    }
}

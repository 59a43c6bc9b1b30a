import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Answers {"patterns": [...], "topics": [...]} with the topics that each pattern matches as Kafka matches, null if it is invalid. */
public class MatchTopics {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        JsonNode asked = mapper.readTree(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ObjectNode answers = mapper.createObjectNode();
        for (JsonNode pattern : asked.get("patterns")) {
            try {
                Pattern compiled = Pattern.compile(pattern.textValue());
                ArrayNode matched = answers.putArray(pattern.textValue());
                for (JsonNode topic : asked.get("topics")) {
                    if (compiled.matcher(topic.textValue()).matches()) {
                        matched.add(topic);
                    }
                }
            } catch (PatternSyntaxException invalid) {
                answers.putNull(pattern.textValue());
            }
        }
        new PrintStream(System.out, true, StandardCharsets.UTF_8).println(answers);
    }
}

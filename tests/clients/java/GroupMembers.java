import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** A program that hosts members of groups; its line protocol is told in groups/member_program.py. */
public final class GroupMembers {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream EVENTS = System.out;

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // whatever a library prints must not come between the events
        tell(new HashMap<>(Map.of("event", "ready", "member", "")));
        Map<String, GroupMember> members = new HashMap<>();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = commands.readLine()) != null) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("member").asText();
            if (command.get("command").asText().equals("join")) {
                GroupMember member = new GroupMember(name, command, args[0]);
                members.put(name, member);
                new Thread(member, name).start();
            } else {
                members.get(name).commands.add(command);
            }
        }
        Runtime.getRuntime().halt(0); // members that were not told to leave do not hold the program up
    }

    static void tell(Map<String, Object> event) throws Exception {
        event.put("at", System.currentTimeMillis());
        String line = JSON.writeValueAsString(event);
        synchronized (EVENTS) {
            EVENTS.println(line);
            EVENTS.flush();
        }
    }

    private GroupMembers() {
    }
}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** Answers a JSON array of groups with the array of assignments that Kafka's assignors make of them. */
public class Assign {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        ArrayNode answers = MAPPER.createArrayNode();
        for (JsonNode group : MAPPER.readTree(System.in)) {
            answers.add(assign(group));
        }
        System.out.println(answers);
    }

    private static ObjectNode assign(JsonNode group) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        group.get("members").fields().forEachRemaining(entry -> {
            JsonNode member = entry.getValue();
            Set<Uuid> topics = new HashSet<>();
            member.get("topics").forEach(topic -> topics.add(uuid(topic.textValue())));
            Map<Uuid, Set<Integer>> assigned = new HashMap<>();
            member.get("assigned").fields().forEachRemaining(topic -> topic.getValue().forEach(partition -> {
                Uuid topicId = uuid(topic.getKey());
                assigned.computeIfAbsent(topicId, id -> new HashSet<>()).add(partition.intValue());
                owners.computeIfAbsent(topicId, id -> new HashMap<>()).put(partition.intValue(), entry.getKey());
            }));
            Optional<String> instanceId = Optional.ofNullable(member.get("instanceId").textValue());
            members.put(entry.getKey(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instanceId, topics, new Assignment(Collections.unmodifiableMap(assigned))));
        });
        Map<Uuid, Integer> counts = new HashMap<>();
        group.get("partitionCounts").fields().forEachRemaining(
            topic -> counts.put(uuid(topic.getKey()), topic.getValue().intValue()));
        SubscriptionType type = group.get("homogeneous").booleanValue() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        ConsumerGroupPartitionAssignor assignor =
            group.get("assignor").textValue().equals("range") ? new RangeAssignor() : new UniformAssignor();
        ObjectNode answer = MAPPER.createObjectNode();
        assignor.assign(new GroupSpecImpl(members, type, owners), describer(counts)).members().forEach((memberId, assignment) -> {
            ObjectNode topics = answer.putObject(memberId);
            assignment.partitions().forEach((topic, partitions) -> {
                ArrayNode array = topics.putArray(
                    new java.util.UUID(topic.getMostSignificantBits(), topic.getLeastSignificantBits()).toString());
                partitions.forEach(array::add);
            });
        });
        return answer;
    }

    private static Uuid uuid(String text) {
        java.util.UUID uuid = java.util.UUID.fromString(text);
        return new Uuid(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
    }

    private static SubscribedTopicDescriber describer(Map<Uuid, Integer> counts) {
        return new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return counts.getOrDefault(topicId, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
    }
}

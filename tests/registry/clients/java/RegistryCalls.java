import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.entities.Config;
import io.confluent.kafka.schemaregistry.client.rest.entities.Metadata;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.util.List;
import java.util.Map;

/** Calls of the client, each with a line of what came back: the registry's address, a subject of its own. */
public class RegistryCalls {
    private static final String ORDER = "{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"string\"}%s]}";

    private interface Call {
        Object answer() throws Exception;
    }

    private static void say(String name, Call call) throws Exception {
        try {
            System.out.println(name + ": " + call.answer());
        } catch (RestClientException refused) {
            System.out.println(name + ": refused " + refused.getStatus() + " " + refused.getErrorCode());
        }
    }

    private static AvroSchema order(String more) {
        return new AvroSchema(String.format(ORDER, more));
    }

    public static void main(String[] arguments) throws Exception {
        String subject = arguments[1];
        AvroSchema first = order("");
        AvroSchema wider = order(",{\"name\":\"region\",\"type\":\"string\",\"default\":\"\"}");
        AvroSchema demanding = order(",{\"name\":\"amount\",\"type\":\"double\"}");
        try (CachedSchemaRegistryClient client = new CachedSchemaRegistryClient(arguments[0], 100);
                CachedSchemaRegistryClient another = new CachedSchemaRegistryClient(arguments[0], 100)) {
            say("before", () -> client.getLatestSchemaMetadata(subject));
            int id = client.register(subject, first);
            say("again", () -> another.register(subject, first) == id);
            say("getSchemaById", () -> another.getSchemaById(id).equals(first));
            say("getSchemaBySubjectAndId", () -> another.getSchemaBySubjectAndId(subject, id).canonicalString());
            say("getId", () -> another.getId(subject, first) == id);
            say("getVersion", () -> another.getVersion(subject, first));
            say("getId of another", () -> another.getId(subject, wider));
            say("testCompatibility", () -> client.testCompatibility(subject, wider));
            say("testCompatibility of a demand", () -> client.testCompatibility(subject, demanding));
            say("verbose", () -> client.testCompatibilityVerbose(subject, demanding).toString().contains("amount"));
            say("register a demand", () -> client.register(subject, demanding));
            say("updateCompatibility", () -> client.updateCompatibility(subject, "NONE"));
            say("getCompatibility", () -> client.getCompatibility(subject));
            say("register it now", () -> client.register(subject, demanding) > id);
            say("updateConfig", () -> client.updateConfig(subject, new Config("FULL")).getCompatibilityLevel());
            say("getConfig", () -> client.getConfig(subject).getCompatibilityLevel());
            say("deleteConfig", () -> { client.deleteConfig(subject); return "done"; });
            say("getAllVersions", () -> client.getAllVersions(subject));
            say("getAllSubjects", () -> client.getAllSubjects().contains(subject));
            say("getAllSubjectsByPrefix", () -> client.getAllSubjectsByPrefix(subject).size());
            say("getAllSubjectsById", () -> client.getAllSubjectsById(id));
            say("getAllVersionsById", () -> client.getAllVersionsById(id));
            say("getLatestSchemaMetadata", () -> client.getLatestSchemaMetadata(subject).getVersion());
            say("getSchemaMetadata", () -> client.getSchemaMetadata(subject, 1).getId() == id);
            say("getSchemas", () -> client.getSchemas(subject, false, true).size());
            AvroSchema holder = new AvroSchema("{\"type\":\"record\",\"name\":\"Holder\",\"fields\":[{\"name\":\"order\",\"type\":\"Order\"}]}",
                    List.of(new SchemaReference("Order", subject, 1)), Map.of("Order", first.canonicalString()),
                    new Metadata(null, Map.of("owner", "shop"), null), null, null, false);
            int holderId = client.register(subject + "-holder", holder);
            say("a reference", () -> ((AvroSchema) another.getSchemaById(holderId)).rawSchema().getField("order").schema().getName());
            say("metadata", () -> another.getSchemaById(holderId).metadata().getProperties());
            say("getLatestWithMetadata", () -> another.getLatestWithMetadata(subject + "-holder", Map.of("owner", "shop"), false).getId() == holderId);
            say("deleteSubject that is referred to", () -> client.deleteSubject(subject));
            say("getMode", () -> client.getMode());
            say("setMode", () -> client.setMode("READONLY", subject));
            say("register when it is read only", () -> another.register(subject, wider));
            say("setMode back", () -> client.setMode("READWRITE", subject));
            say("deleteSubject", () -> client.deleteSubject(subject + "-holder"));
            say("deleteSubject for good", () -> client.deleteSubject(subject + "-holder", true));
            say("deleteSchemaVersion", () -> client.deleteSchemaVersion(subject, "2"));
            say("deleteSchemaVersion for good", () -> client.deleteSchemaVersion(subject, "2", true));
            say("deleteSubject at last", () -> client.deleteSubject(subject));
            say("afterwards", () -> client.getAllVersions(subject));
        }
    }
}

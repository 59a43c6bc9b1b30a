import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.subject.*;
import java.io.File;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

/** What the snippet needs around it: imports, a main method and an end. */
public class AvroProducer {
    public static void main(String[] arguments) throws Exception {
        /* snippet */
        producer.close();
    }
}

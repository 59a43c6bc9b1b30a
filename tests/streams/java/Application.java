import java.io.OutputStream;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * A topology against a broker, exactly once. Each option is a setting of Kafka Streams, with dashes for its dots:
 * --bootstrap-servers A --application-id I --state-dir D --num-stream-threads 2.
 *
 * <p>It prints RUNNING each time it comes to be, and closes at the end of its input or at SIGTERM. It ends with status 1 when a
 * thread fails.
 */
final class Application {
    static void run(List<String> arguments) throws Exception {
        String name = arguments.get(0);
        Properties properties = Topologies.properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        for (int i = 1; i < arguments.size(); i += 2) {
            properties.put(arguments.get(i).substring(2).replace('-', '.'), arguments.get(i + 1));
        }
        KafkaStreams streams = new KafkaStreams(Topologies.named(name), properties);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                System.out.println("RUNNING");
            }
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        // Out of the group as well, or whoever comes next waits until its session has timed out.
        CloseOptions leaving = CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(leaving)));
        streams.start();
        System.in.transferTo(OutputStream.nullOutputStream());
        System.exit(0);
    }
}

import java.util.Map;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;

// Custom partitioner example
public class RegionPartitioner implements Partitioner {
    @Override
    public int partition(String topic, Object key, byte[] keyBytes,
                         Object value, byte[] valueBytes, Cluster cluster) {
        int numPartitions = cluster.partitionCountForTopic(topic);
        if (key == null) return 0;
        String region = key.toString().split(":")[0]; // "us-east:order-123"
        return switch (region) {
            case "us-east" -> 0 % numPartitions;
            case "us-west" -> 1 % numPartitions;
            case "eu" -> 2 % numPartitions;
            default -> Math.abs(key.hashCode()) % numPartitions;
        };
    }

    @Override public void close() {}
    @Override public void configure(Map<String, ?> configs) {}
}

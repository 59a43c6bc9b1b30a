import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogKey;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValue;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Reads lines "kind key version base64" and answers each with what Kafka understood, as JSON, and the bytes it would write:
 * "base64 TAB json", or "! reason". Kinds: request, response, record (of the metadata log),
 * group-key and group-value (of a record of __consumer_offsets, where key is its type and a value starts with its version),
 * transaction-key and transaction-value (of __transaction_state), subscription and assignment (of the consumer protocol), batch, errors, keys.
 */
public class Reencode {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            short key = Short.parseShort(words[1]);
            short version = Short.parseShort(words[2]);
            ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(words[3]));
            try {
                out.println(answer(words[0], key, version, bytes));
            } catch (Throwable error) {
                out.println("! " + error.toString().replace('\n', ' '));
            }
            out.flush();
        }
    }

    private static String answer(String kind, short key, short version, ByteBuffer bytes) throws Exception {
        switch (kind) {
            case "request":
                return message(ApiMessageType.fromApiKey(key).newRequest(), version, bytes);
            case "response":
                return message(ApiMessageType.fromApiKey(key).newResponse(), version, bytes);
            case "record":
                return record(bytes);
            case "group-key":
                return groupKey(CoordinatorRecordType.fromId(bytes.getShort()), bytes);
            case "group-value":
                return versionFirst(CoordinatorRecordType.fromId(key).newRecordValue(), bytes);
            case "transaction-key":
                return versionFirst(new TransactionLogKey(), bytes);
            case "transaction-value":
                return versionFirst(new TransactionLogValue(), bytes);
            case "subscription":
                return versionFirst(new ConsumerProtocolSubscription(), bytes);
            case "assignment":
                return versionFirst(new ConsumerProtocolAssignment(), bytes);
            case "batch":
                return batch(bytes);
            case "errors":
                return "\t" + errors();
            default:
                return "\t" + keys();
        }
    }

    private static String groupKey(CoordinatorRecordType type, ByteBuffer bytes) {
        ApiMessage key = type.newRecordKey();
        key.read(new ByteBufferAccessor(bytes), (short) 0);
        requireEnd(bytes);
        byte[] written = new GroupCoordinatorRecordSerde().serializeKey(CoordinatorRecord.tombstone(key));
        return base64(ByteBuffer.wrap(written)) + "\t" + CoordinatorRecordJsonConverters.writeRecordKeyAsJson(key);
    }

    private static String versionFirst(ApiMessage message, ByteBuffer bytes) throws Exception {
        short version = bytes.getShort();
        message.read(new ByteBufferAccessor(bytes), version);
        requireEnd(bytes);
        return base64(MessageUtil.toVersionPrefixedByteBuffer(version, message)) + "\t" + json(message, version);
    }

    private static String message(ApiMessage message, short version, ByteBuffer bytes) throws Exception {
        message.read(new ByteBufferAccessor(bytes), version);
        requireEnd(bytes);
        return base64(MessageUtil.toByteBufferAccessor(message, version).buffer()) + "\t" + json(message, version);
    }

    private static JsonNode json(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        return (JsonNode) converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version);
    }

    private static String record(ByteBuffer bytes) {
        MetadataRecordSerde serde = MetadataRecordSerde.INSTANCE;
        ApiMessageAndVersion read = serde.read(new ByteBufferAccessor(bytes), bytes.remaining());
        requireEnd(bytes);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer written = ByteBuffer.allocate(serde.recordSize(read, cache));
        serde.write(read, cache, new ByteBufferAccessor(written));
        written.flip();
        return base64(written) + "\t" + MetadataJsonConverters.writeJson(read.message(), read.version());
    }

    /** The batch as Kafka's own builder makes it of the records it read. */
    private static String batch(ByteBuffer bytes) {
        ArrayNode all = JSON.arrayNode();
        MutableRecordBatch batch = MemoryRecords.readableRecords(bytes).batches().iterator().next();
        batch.ensureValid();
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            ByteBuffer.allocate(4096), batch.magic(), Compression.of(batch.compressionType()).build(), batch.timestampType(),
            batch.baseOffset(), batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(), batch.baseSequence(),
            batch.isTransactional(), batch.isControlBatch(), batch.partitionLeaderEpoch(), Integer.MAX_VALUE);
        for (Record record : batch) {
            ObjectNode json = all.addObject();
            json.put("offset", record.offset());
            json.put("timestamp", record.timestamp());
            json.put("key", base64(record.key()));
            json.put("value", base64(record.value()));
            ArrayNode headers = json.putArray("headers");
            for (Header header : record.headers()) {
                headers.addArray().add(header.key()).add(base64(header.value() == null ? null : ByteBuffer.wrap(header.value())));
            }
            if (batch.isControlBatch()) {
                json.put("controlType", ControlRecordType.parse(record.key()).name());
                json.put("coordinatorEpoch", EndTransactionMarker.deserialize(record).coordinatorEpoch());
                builder.appendEndTxnMarker(record.timestamp(), EndTransactionMarker.deserialize(record));
            } else {
                builder.append(record);
            }
        }
        return base64(builder.build().buffer().duplicate()) + "\t" + all;
    }

    private static String errors() {
        ObjectNode all = JSON.objectNode();
        for (Errors error : Errors.values()) {
            all.putArray(error.name()).add(error.code()).add(error.exception() instanceof RetriableException);
        }
        return all.toString();
    }

    private static String keys() {
        ObjectNode all = JSON.objectNode();
        for (ApiMessageType type : ApiMessageType.values()) {
            ObjectNode headers = all.putObject(ApiKeys.forId(type.apiKey()).name());
            headers.put("key", type.apiKey());
            for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(true); version++) {
                headers.putArray(Short.toString(version)).add(type.requestHeaderVersion(version)).add(type.responseHeaderVersion(version));
            }
        }
        return all.toString();
    }

    private static void requireEnd(ByteBuffer bytes) {
        if (bytes.hasRemaining()) {
            throw new IllegalStateException(bytes.remaining() + " bytes are left");
        }
    }

    private static String base64(ByteBuffer bytes) {
        if (bytes == null) {
            return null;
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return Base64.getEncoder().encodeToString(copy);
    }
}

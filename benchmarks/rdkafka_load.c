/* Loads through librdkafka: producers, and readers by assignment.
 *
 *   rdkafka_load LIBRARY produce BROKERS TOPIC PARTITIONS RECORDS SIZE CODEC      -> "SECONDS"
 *   rdkafka_load LIBRARY fetch BROKERS TOPIC PARTITIONS RECORDS                   -> "SECONDS VALUE_BYTES"
 *   rdkafka_load LIBRARY pace BROKERS TOPIC PARTITIONS RECORDS SIZE RATE LINGER   -> "SECONDS"
 *   rdkafka_load LIBRARY watch BROKERS TOPIC PARTITIONS RECORDS SKIP              -> "P50 P99 P99.9" in milliseconds
 *
 * `pace` writes the time at which a record was due into its first 8 bytes; `watch` takes the difference at receipt.
 * Counting from when it was due, not from when it was sent, charges a stall to every record that waited behind it.
 */
#include "rdkafka.h"

/* Connects and learns the partitions, so that neither is timed. */
static handle open_topic(handle client, const char *name) {
    handle topic = rd_kafka_topic_new(client, name, NULL);
    const void *metadata;
    int error = rd_kafka_metadata(client, 0, topic, &metadata, 30000);
    if (error) errx(1, "metadata of %s: %s", name, rd_kafka_err2str(error));
    rd_kafka_metadata_destroy(metadata);
    return topic;
}

static void on_delivery(handle client, const struct message *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->error) errx(1, "a record was not delivered: %s", rd_kafka_err2str(message->error));
}

static handle new_producer(const char *brokers, const char *codec, const char *linger) {
    handle configuration = rd_kafka_conf_new();
    set(configuration, "bootstrap.servers", brokers);
    set(configuration, "acks", "all");
    set(configuration, "compression.codec", codec);
    set(configuration, "linger.ms", linger);
    set(configuration, "queue.buffering.max.messages", "1000000");
    set(configuration, "delivery.report.only.error", "true");
    rd_kafka_conf_set_dr_msg_cb(configuration, on_delivery);
    return new_client(PRODUCER, configuration);
}

static void send_record(handle producer, handle topic, int32_t partition, int flags, void *value, size_t size) {
    while (rd_kafka_produce(topic, partition, flags, value, size, NULL, 0, NULL)) {
        if (rd_kafka_last_error() != QUEUE_FULL) errx(1, "produce: %s", rd_kafka_err2str(rd_kafka_last_error()));
        rd_kafka_poll(producer, 1);
    }
}

static void finish(handle producer) {
    int error = rd_kafka_flush(producer, 120000);
    if (error || rd_kafka_outq_len(producer)) errx(1, "flush: %s", rd_kafka_err2str(error));
}

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Values that look like orders in JSON: lz4 takes them to about a half. None repeats within a window of lz4. */
static char *make_values(size_t size, size_t count) {
    static const char *words[] = {"paid", "express", "Lisbon", "gift", "blue", "return", "Oslo", "fragile", "invoice", "Kyoto",
                                  "green", "parcel", "weekly", "refund", "bulk", "priority"};
    char *values = malloc(size * count), text[256];
    for (size_t i = 0; i < count; i++) {
        char *value = values + i * size;
        size_t filled = snprintf(text, sizeof text, "{\"order_id\":%lu,\"customer\":\"c-%05lu\",\"amount\":%lu.%02lu,\"note\":\"",
                                 i * 7919 + next_random() % 7919, next_random() % 90000, next_random() % 900, next_random() % 100);
        if (filled > size) filled = size;
        memcpy(value, text, filled);
        while (filled < size) {
            size_t length = snprintf(text, sizeof text, "%s %lu ", words[next_random() % 16], next_random() % 1000);
            if (length > size - filled) length = size - filled;
            memcpy(value + filled, text, length);
            filled += length;
        }
    }
    return values;
}

static void produce(const char *brokers, const char *name, int partitions, long records, size_t size, const char *codec) {
    handle producer = new_producer(brokers, codec, "5");
    handle topic = open_topic(producer, name);
    size_t count = (8 << 20) / size;
    char *values = make_values(size, count);
    int64_t start = now_ns();
    for (long i = 0; i < records; i++) {
        send_record(producer, topic, i % partitions, 0, values + i % count * size, size);
        if (i % 4096 == 0) rd_kafka_poll(producer, 0);
    }
    finish(producer);
    printf("%.6f\n", (now_ns() - start) / 1e9);
}

static void pace(const char *brokers, const char *name, int partitions, long records, size_t size, double rate, const char *linger) {
    handle producer = new_producer(brokers, "none", linger);
    handle topic = open_topic(producer, name);
    char *value = make_values(size, 1);
    prctl(PR_SET_TIMERSLACK, 1UL);
    int64_t start = now_ns();
    for (long i = 0; i < records; i++) {
        int64_t due = start + (int64_t)(i * 1e9 / rate);
        if (due > now_ns()) {
            struct timespec until = {due / 1000000000LL, due % 1000000000LL};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
        memcpy(value, &due, sizeof due);
        send_record(producer, topic, i % partitions, COPY, value, size);
    }
    finish(producer);
    printf("%.6f\n", (now_ns() - start) / 1e9);
}

static handle start_reading(const char *brokers, const char *name, int partitions) {
    handle configuration = rd_kafka_conf_new();
    set(configuration, "bootstrap.servers", brokers);
    set(configuration, "queued.min.messages", "1000000");
    set(configuration, "queued.max.messages.kbytes", "262144");
    set(configuration, "fetch.queue.backoff.ms", "2");
    set(configuration, "fetch.error.backoff.ms", "10");
    handle consumer = new_client(CONSUMER, configuration);
    handle topic = open_topic(consumer, name);
    handle queue = rd_kafka_queue_new(consumer);
    for (int i = 0; i < partitions; i++)
        if (rd_kafka_consume_start_queue(topic, i, OFFSET_BEGINNING, queue))
            errx(1, "consume: %s", rd_kafka_err2str(rd_kafka_last_error()));
    return queue;
}

/* Waits until there are `wanted` messages: right for throughput, wrong for latency. */
static size_t next_messages(handle queue, struct message **messages, size_t wanted) {
    ssize_t count = rd_kafka_consume_batch_queue(queue, 20000, messages, wanted);
    if (count <= 0) errx(1, "nothing to read for 20 s");
    for (ssize_t i = 0; i < count; i++)
        if (messages[i]->error) errx(1, "read: %s", rd_kafka_err2str(messages[i]->error));
    return count;
}

static void fetch(const char *brokers, const char *name, int partitions, long records) {
    static struct message *messages[1000];
    long have = 0, bytes = 0;
    int64_t start = now_ns();
    handle queue = start_reading(brokers, name, partitions);
    while (have < records) {
        size_t count = next_messages(queue, messages, records - have < 1000 ? records - have : 1000);
        for (size_t i = 0; i < count; i++) {
            bytes += messages[i]->length;
            rd_kafka_message_destroy(messages[i]);
        }
        have += count;
    }
    printf("%.6f %ld\n", (now_ns() - start) / 1e9, bytes);
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void watch(const char *brokers, const char *name, int partitions, long records, long skip) {
    handle queue = start_reading(brokers, name, partitions);
    int64_t *delays = malloc(records * sizeof *delays);
    printf("reading\n");
    fflush(stdout);
    long kept = 0;
    for (long have = 0; have < records; have++) {
        struct message *message = rd_kafka_consume_queue(queue, 20000);
        if (!message) errx(1, "nothing to read for 20 s");
        if (message->error) errx(1, "read: %s", rd_kafka_err2str(message->error));
        int64_t due;
        memcpy(&due, message->payload, sizeof due);
        if (have >= skip) delays[kept++] = now_ns() - due;
        rd_kafka_message_destroy(message);
    }
    qsort(delays, kept, sizeof *delays, ascending);
    printf("%.4f %.4f %.4f\n", delays[kept / 2] / 1e6, delays[kept * 99 / 100] / 1e6, delays[kept * 999 / 1000] / 1e6);
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 7) errx(2, "see the head of rdkafka_load.c");
    load(argv[1]);
    const char *mode = argv[2], *brokers = argv[3], *topic = argv[4];
    int partitions = atoi(argv[5]);
    long records = atol(argv[6]);
    if (!strcmp(mode, "produce") && argc == 9) produce(brokers, topic, partitions, records, atol(argv[7]), argv[8]);
    else if (!strcmp(mode, "fetch") && argc == 7) fetch(brokers, topic, partitions, records);
    else if (!strcmp(mode, "pace") && argc == 10) pace(brokers, topic, partitions, records, atol(argv[7]), atof(argv[8]), argv[9]);
    else if (!strcmp(mode, "watch") && argc == 8) watch(brokers, topic, partitions, records, atol(argv[7]));
    else errx(2, "see the head of rdkafka_load.c");
    fflush(stdout);
    _exit(0); /* closing librdkafka's clients in order takes up to a second and measures nothing */
}

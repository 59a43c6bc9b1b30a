/* Members of one group read a topic through librdkafka and commit on the way.
 *
 *   rdkafka_group LIBRARY BROKERS TOPIC PARTITIONS RECORDS GROUP PROTOCOL MEMBERS     -> "SECONDS VALUE_BYTES"
 *
 * The members join with their partitions paused. When each has its share all go on, and the clock starts: what is timed
 * is reading in a group, not joining it. Each member is a thread, as in an application.
 */
#include "rdkafka.h"
#include <pthread.h>
#include <stdatomic.h>

enum { BATCH = 1000, JOIN_SECONDS = 60 };

struct member {
    pthread_t thread;
    handle consumer;
    atomic_int assigned;
};

static atomic_int reading;
static atomic_long have, bytes;
static long records;

static void on_rebalance(handle consumer, int code, struct partitions *partitions, void *opaque) {
    struct member *member = opaque;
    int is_incremental = !strcmp(rd_kafka_rebalance_protocol(consumer), "COOPERATIVE");
    if (code == ASSIGN_PARTITIONS) {
        if (is_incremental) rd_kafka_incremental_assign(consumer, partitions);
        else rd_kafka_assign(consumer, partitions);
        rd_kafka_pause_partitions(consumer, partitions);
        member->assigned += partitions->count;
    } else {
        if (is_incremental) rd_kafka_incremental_unassign(consumer, partitions);
        else rd_kafka_assign(consumer, NULL);
        member->assigned -= partitions->count;
    }
}

static void join_group(struct member *member, char **argv) {
    handle configuration = rd_kafka_conf_new();
    set(configuration, "bootstrap.servers", argv[2]);
    set(configuration, "group.id", argv[6]);
    set(configuration, "group.protocol", argv[7]);
    set(configuration, "auto.offset.reset", "earliest");
    set(configuration, "auto.commit.interval.ms", "100");
    set(configuration, "queued.min.messages", "1000000");
    set(configuration, "queued.max.messages.kbytes", "65536");
    set(configuration, "fetch.queue.backoff.ms", "2");
    rd_kafka_conf_set_rebalance_cb(configuration, on_rebalance);
    rd_kafka_conf_set_opaque(configuration, member);
    member->consumer = new_client(CONSUMER, configuration);
    rd_kafka_poll_set_consumer(member->consumer);
    handle topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, argv[3], -1);
    int error = rd_kafka_subscribe(member->consumer, topics);
    if (error) errx(1, "subscribe: %s", rd_kafka_err2str(error));
}

static void *read_records(void *argument) {
    struct member *member = argument;
    handle queue = rd_kafka_queue_get_consumer(member->consumer);
    struct message *messages[BATCH];
    int was_reading = 0;
    while (have < records) {
        if (reading && !was_reading) {
            struct partitions *mine;
            rd_kafka_assignment(member->consumer, &mine);
            rd_kafka_resume_partitions(member->consumer, mine);
            was_reading = 1;
        }
        ssize_t count = rd_kafka_consume_batch_queue(queue, 10, messages, BATCH);
        if (count < 0) errx(1, "read: %s", rd_kafka_err2str(rd_kafka_last_error()));
        long size = 0;
        for (ssize_t i = 0; i < count; i++) {
            if (messages[i]->error) errx(1, "read: %s", rd_kafka_err2str(messages[i]->error));
            size += messages[i]->length;
            rd_kafka_message_destroy(messages[i]);
        }
        bytes += size;
        have += count;
    }
    return NULL;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 9) errx(2, "see the head of rdkafka_group.c");
    load(argv[1]);
    int partitions = atoi(argv[4]), count = atoi(argv[8]);
    records = atol(argv[5]);
    struct member *members = calloc(count, sizeof *members);
    for (int i = 0; i < count; i++) {
        join_group(&members[i], argv);
        pthread_create(&members[i].thread, NULL, read_records, &members[i]);
    }
    int64_t deadline = now_ns() + JOIN_SECONDS * 1000000000LL;
    for (int settled = 0; settled < count;) {
        settled = 0;
        for (int i = 0; i < count; i++) settled += members[i].assigned == partitions / count;
        if (now_ns() > deadline) errx(1, "after %d s only %d of %d members have their share", JOIN_SECONDS, settled, count);
        usleep(1000);
    }
    int64_t start = now_ns();
    reading = 1;
    for (int i = 0; i < count; i++) pthread_join(members[i].thread, NULL);
    double seconds = (now_ns() - start) / 1e9;
    for (int i = 0; i < count; i++) rd_kafka_consumer_close(members[i].consumer); /* commits what was read last */
    printf("%.6f %ld\n", seconds, (long)bytes);
    fflush(stdout);
    _exit(0);
}

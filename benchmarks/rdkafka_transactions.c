/* Producers that write transactions through librdkafka, or the same records without any.
 *
 *   rdkafka_transactions LIBRARY BROKERS TOPIC PARTITIONS PRODUCERS TRANSACTIONS RECORDS SIZE PREFIX     -> "SECONDS"
 *
 * Each producer is a thread with a transactional id of its own, PREFIX and a number, and writes TRANSACTIONS of RECORDS
 * each, one after the other. Without a PREFIX ("-") it is only idempotent, and waits for the acks of as many records
 * where it would commit. All are connected and initialised before the clock starts.
 */
#include "rdkafka.h"
#include <pthread.h>

enum { TIMEOUT_MS = 60000 };

struct producer {
    pthread_t thread;
    handle client, topic;
    long sent;
};

static pthread_barrier_t ready;
static int partitions, is_transactional;
static long transactions, records;
static size_t size;
static char *value;

static void check(handle error, const char *what) {
    if (error) errx(1, "%s: %s", what, rd_kafka_error_string(error));
}

static void on_delivery(handle client, const struct message *message, void *opaque) {
    (void)client, (void)opaque;
    if (message->error) errx(1, "a record was not delivered: %s", rd_kafka_err2str(message->error));
}

static void open_producer(struct producer *producer, int number, char **argv) {
    char id[256];
    handle configuration = rd_kafka_conf_new();
    set(configuration, "bootstrap.servers", argv[2]);
    set(configuration, "acks", "all");
    set(configuration, "enable.idempotence", "true");
    if (is_transactional) {
        snprintf(id, sizeof id, "%s-%d", argv[9], number);
        set(configuration, "transactional.id", id);
    }
    rd_kafka_conf_set_dr_msg_cb(configuration, on_delivery);
    producer->client = new_client(PRODUCER, configuration);
    producer->topic = rd_kafka_topic_new(producer->client, argv[3], NULL);
    producer->sent = number; /* so that not all begin with the same partition */
}

static void send_records(struct producer *producer, long count) {
    for (long i = 0; i < count; i++)
        if (rd_kafka_produce(producer->topic, producer->sent++ % partitions, 0, value, size, NULL, 0, NULL))
            errx(1, "produce: %s", rd_kafka_err2str(rd_kafka_last_error()));
}

static void finish(struct producer *producer) {
    int error = rd_kafka_flush(producer->client, TIMEOUT_MS);
    if (error) errx(1, "flush: %s", rd_kafka_err2str(error));
}

/* Learns the partitions and, without transactions, gets its producer id. */
static void initialise(struct producer *producer) {
    const void *metadata;
    int error = rd_kafka_metadata(producer->client, 0, producer->topic, &metadata, TIMEOUT_MS);
    if (error) errx(1, "metadata: %s", rd_kafka_err2str(error));
    rd_kafka_metadata_destroy(metadata);
    if (is_transactional) check(rd_kafka_init_transactions(producer->client, TIMEOUT_MS), "init");
}

static void write_once(struct producer *producer) {
    if (is_transactional) check(rd_kafka_begin_transaction(producer->client), "begin");
    send_records(producer, records);
    if (is_transactional) check(rd_kafka_commit_transaction(producer->client, TIMEOUT_MS), "commit");
    else finish(producer);
}

static void *write_all(void *argument) {
    struct producer *producer = argument;
    initialise(producer);
    write_once(producer); /* the first one connects and creates what is not there yet */
    pthread_barrier_wait(&ready);
    for (long i = 1; i < transactions; i++) write_once(producer);
    return NULL;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 10) errx(2, "see the head of rdkafka_transactions.c");
    load(argv[1]);
    partitions = atoi(argv[4]);
    int count = atoi(argv[5]);
    transactions = atol(argv[6]);
    records = atol(argv[7]);
    size = atol(argv[8]);
    is_transactional = strcmp(argv[9], "-") != 0;
    value = malloc(size);
    memset(value, 'x', size);
    pthread_barrier_init(&ready, NULL, count + 1);
    struct producer *producers = calloc(count, sizeof *producers);
    for (int i = 0; i < count; i++) {
        open_producer(&producers[i], i, argv);
        pthread_create(&producers[i].thread, NULL, write_all, &producers[i]);
    }
    pthread_barrier_wait(&ready);
    int64_t start = now_ns();
    for (int i = 0; i < count; i++) pthread_join(producers[i].thread, NULL);
    printf("%.6f\n", (now_ns() - start) / 1e9);
    fflush(stdout);
    _exit(0); /* closing librdkafka's clients in order takes up to a second and measures nothing */
}

/* librdkafka itself, the very library inside the confluent-kafka wheel, without Python's cost per record.
 *
 * The wheel has no header, so the functions that the loads use are declared here as its stable C interface has them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

typedef void *handle;
struct message {
    int error;
    handle topic;
    int32_t partition;
    void *payload;
    size_t length;
    void *key;
    size_t key_length;
    int64_t offset;
    void *private;
};
struct partitions {
    int count;
    int size;
    void *elements;
};
enum { PRODUCER, CONSUMER };
enum { COPY = 2, OFFSET_BEGINNING = -2, QUEUE_FULL = -184, ASSIGN_PARTITIONS = -175 };

static handle (*rd_kafka_conf_new)(void);
static int (*rd_kafka_conf_set)(handle, const char *, const char *, char *, size_t);
static void (*rd_kafka_conf_set_dr_msg_cb)(handle, void (*)(handle, const struct message *, void *));
static handle (*rd_kafka_new)(int, handle, char *, size_t);
static handle (*rd_kafka_topic_new)(handle, const char *, handle);
static int (*rd_kafka_produce)(handle, int32_t, int, void *, size_t, const void *, size_t, void *);
static int (*rd_kafka_last_error)(void);
static const char *(*rd_kafka_err2str)(int);
static int (*rd_kafka_poll)(handle, int);
static int (*rd_kafka_flush)(handle, int);
static int (*rd_kafka_outq_len)(handle);
static int (*rd_kafka_metadata)(handle, int, handle, const void **, int);
static void (*rd_kafka_metadata_destroy)(const void *);
static handle (*rd_kafka_queue_new)(handle);
static int (*rd_kafka_consume_start_queue)(handle, int32_t, int64_t, handle);
static ssize_t (*rd_kafka_consume_batch_queue)(handle, int, struct message **, size_t);
static struct message *(*rd_kafka_consume_queue)(handle, int);
static void (*rd_kafka_message_destroy)(struct message *);

/* Members of groups */
static handle (*rd_kafka_topic_partition_list_new)(int);
static handle (*rd_kafka_topic_partition_list_add)(handle, const char *, int32_t);
static int (*rd_kafka_subscribe)(handle, handle);
static void (*rd_kafka_conf_set_rebalance_cb)(handle, void (*)(handle, int, struct partitions *, void *));
static void (*rd_kafka_conf_set_opaque)(handle, void *);
static const char *(*rd_kafka_rebalance_protocol)(handle);
static int (*rd_kafka_assign)(handle, struct partitions *);
static handle (*rd_kafka_incremental_assign)(handle, struct partitions *);
static handle (*rd_kafka_incremental_unassign)(handle, struct partitions *);
static int (*rd_kafka_assignment)(handle, struct partitions **);
static int (*rd_kafka_pause_partitions)(handle, struct partitions *);
static int (*rd_kafka_resume_partitions)(handle, struct partitions *);
static int (*rd_kafka_poll_set_consumer)(handle);
static handle (*rd_kafka_queue_get_consumer)(handle);
static int (*rd_kafka_consumer_close)(handle);

/* Transactions; each gives an error, or NULL */
static handle (*rd_kafka_init_transactions)(handle, int);
static handle (*rd_kafka_begin_transaction)(handle);
static handle (*rd_kafka_commit_transaction)(handle, int);
static const char *(*rd_kafka_error_string)(handle);

static void load(const char *library) {
    void *loaded = dlopen(library, RTLD_NOW);
    if (!loaded) errx(1, "%s", dlerror());
#define FIND(name) if (!(*(void **)&name = dlsym(loaded, #name))) errx(1, "%s", dlerror())
    FIND(rd_kafka_conf_new);
    FIND(rd_kafka_conf_set);
    FIND(rd_kafka_conf_set_dr_msg_cb);
    FIND(rd_kafka_new);
    FIND(rd_kafka_topic_new);
    FIND(rd_kafka_produce);
    FIND(rd_kafka_last_error);
    FIND(rd_kafka_err2str);
    FIND(rd_kafka_poll);
    FIND(rd_kafka_flush);
    FIND(rd_kafka_outq_len);
    FIND(rd_kafka_metadata);
    FIND(rd_kafka_metadata_destroy);
    FIND(rd_kafka_queue_new);
    FIND(rd_kafka_consume_start_queue);
    FIND(rd_kafka_consume_batch_queue);
    FIND(rd_kafka_consume_queue);
    FIND(rd_kafka_message_destroy);
    FIND(rd_kafka_topic_partition_list_new);
    FIND(rd_kafka_topic_partition_list_add);
    FIND(rd_kafka_subscribe);
    FIND(rd_kafka_conf_set_rebalance_cb);
    FIND(rd_kafka_conf_set_opaque);
    FIND(rd_kafka_rebalance_protocol);
    FIND(rd_kafka_assign);
    FIND(rd_kafka_incremental_assign);
    FIND(rd_kafka_incremental_unassign);
    FIND(rd_kafka_assignment);
    FIND(rd_kafka_pause_partitions);
    FIND(rd_kafka_resume_partitions);
    FIND(rd_kafka_poll_set_consumer);
    FIND(rd_kafka_queue_get_consumer);
    FIND(rd_kafka_consumer_close);
    FIND(rd_kafka_init_transactions);
    FIND(rd_kafka_begin_transaction);
    FIND(rd_kafka_commit_transaction);
    FIND(rd_kafka_error_string);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void set(handle configuration, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(configuration, name, value, error, sizeof error)) errx(1, "%s", error);
}

static handle new_client(int kind, handle configuration) {
    char error[512];
    handle client = rd_kafka_new(kind, configuration, error, sizeof error);
    if (!client) errx(1, "%s", error);
    return client;
}


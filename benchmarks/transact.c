/* A client that costs next to nothing, so that the broker is what is measured: it replays canned transactions, one after
 * the other on each connection, and reads no more of an answer than says whether it worked.
 *
 *   transact PORT PREFIX PRODUCERS TRANSACTIONS RECORDS     -> "SECONDS RETRIES"
 *
 * Producer number i has a connection of its own and repeats the requests of the file PREFIX-i TRANSACTIONS times. The file
 * is a list of steps; each is five big-endian int32, then a request with its length prefix:
 *
 *   LENGTH         of the request
 *   PRODUCER_AT    where its producer id and epoch are, of a Produce in its record batch
 *   BATCH_AT       where its record batch is, or 0: that gets the next sequence and its checksum
 *   ERROR_AT       where the error code is in the answer, counted from behind its length prefix
 *   NEXT_AT        where the answer says which producer id and epoch come next (KIP-890), or 0
 *
 * A batch has RECORDS records. Where the answer gives no new epoch the sequence goes on, else it begins at 0 again. A
 * broker that has not finished the transaction before (CONCURRENT_TRANSACTIONS) is asked again after a millisecond.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 8, ANSWER = 4096, CONCURRENT_TRANSACTIONS = 51, BACKOFF_NS = 1000000 };
enum { CRC_AT = 17, COVERED_AT = 21, SEQUENCE_AT = 53 }; /* in a record batch */

struct step {
    char *frame;
    size_t length, producer_at, batch_at, error_at, next_at;
};

struct producer {
    int socket, steps, step;
    struct step script[STEPS];
    long left;               /* transactions */
    size_t sent, have;       /* bytes of the request sent, of the answer received */
    int32_t sequence;
    int64_t again_at;        /* when to send the request once more, or 0 */
    unsigned char answer[ANSWER];
};

static long records, retries, working;
static uint32_t table[8][256];

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
        table[0][i] = crc;
    }
    for (int i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            table[slice][i] = table[slice - 1][i] >> 8 ^ table[0][table[slice - 1][i] & 0xff];
}

static uint32_t crc32c(const unsigned char *data, size_t size) {
    uint32_t crc = ~0U;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        word = le64toh(word) ^ crc;
        crc = 0;
        for (int i = 0; i < 8; i++) crc ^= table[7 - i][word >> 8 * i & 0xff];
    }
    while (size--) crc = crc >> 8 ^ table[0][(crc ^ *data++) & 0xff];
    return ~crc;
}

static uint32_t read32(const void *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return be32toh(value);
}

static void write32(void *at, uint32_t value) {
    value = htobe32(value);
    memcpy(at, &value, 4);
}

static void number_batch(struct producer *p, struct step *step) {
    char *batch = step->frame + step->batch_at;
    write32(batch + SEQUENCE_AT, p->sequence);
    size_t size = 12 + read32(batch + 8);
    write32(batch + CRC_AT, crc32c((unsigned char *)batch + COVERED_AT, size - COVERED_AT));
}

static void begin_step(struct producer *p) {
    struct step *step = &p->script[p->step];
    if (step->batch_at) number_batch(p, step);
    p->sent = p->have = 0;
    p->again_at = 0;
}

static void send_some(struct producer *p) {
    struct step *step = &p->script[p->step];
    while (p->sent < step->length) {
        ssize_t n = send(p->socket, step->frame + p->sent, step->length - p->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "send");
        p->sent += n;
    }
}

static void take_producer(struct producer *p, const unsigned char *id_and_epoch) {
    for (int i = 0; i < p->steps; i++) memcpy(p->script[i].frame + p->script[i].producer_at, id_and_epoch, 10);
}

static void end_step(struct producer *p) {
    struct step *step = &p->script[p->step];
    const unsigned char *answer = p->answer + 4;
    int16_t code = (int16_t)(answer[step->error_at] << 8 | answer[step->error_at + 1]);
    if (code == CONCURRENT_TRANSACTIONS) {
        retries++;
        p->again_at = now_ns() + BACKOFF_NS;
        return;
    }
    if (code) errx(1, "step %d was answered with error code %d", p->step, code);
    if (step->batch_at) p->sequence += records;
    if (step->next_at) {
        take_producer(p, answer + step->next_at);
        p->sequence = 0;
    }
    if (++p->step == p->steps) {
        p->step = 0;
        if (!--p->left) {
            working--;
            return;
        }
    }
    begin_step(p);
    send_some(p);
}

static void receive_some(struct producer *p) {
    for (;;) {
        size_t wanted = p->have < 4 ? 4 : 4 + (size_t)read32(p->answer);
        if (wanted > ANSWER) errx(1, "an answer of %zu bytes", wanted);
        if (p->have >= 4 && p->have == wanted) {
            end_step(p);
            return;
        }
        ssize_t n = recv(p->socket, p->answer + p->have, wanted - p->have, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "recv");
        if (n == 0) errx(1, "the broker closed a connection");
        p->have += n;
    }
}

static void read_script(struct producer *p, const char *prefix, int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s-%d", prefix, number);
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) err(1, "%s", path);
    char *data = malloc(status.st_size), *end = data + status.st_size;
    if (read(file, data, status.st_size) != status.st_size) err(1, "%s", path);
    close(file);
    while (data < end) {
        if (p->steps == STEPS) errx(1, "%s has too many steps", path);
        struct step *step = &p->script[p->steps++];
        *step = (struct step){data + 20, read32(data), read32(data + 4), read32(data + 8), read32(data + 12), read32(data + 16)};
        data += 20 + step->length;
    }
}

static int connect_to(int port) {
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(s, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

/* Sends again what is due; milliseconds until the next is, -1 if none is. */
static int send_again(struct producer *producers, int count) {
    int64_t now = now_ns(), next = 0;
    for (int i = 0; i < count; i++) {
        struct producer *p = &producers[i];
        if (!p->again_at) continue;
        if (p->again_at <= now) {
            begin_step(p);
            send_some(p);
        } else if (!next || p->again_at < next) next = p->again_at;
    }
    return next ? (int)((next - now) / 1000000 + 1) : -1;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 6) errx(2, "see the head of transact.c");
    make_table();
    int count = atoi(argv[3]), poller = epoll_create1(0);
    records = atol(argv[5]);
    struct producer *producers = calloc(count, sizeof *producers);
    for (int i = 0; i < count; i++) {
        read_script(&producers[i], argv[2], i);
        producers[i].socket = connect_to(atoi(argv[1]));
        producers[i].left = atol(argv[4]);
        struct epoll_event interest = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &producers[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, producers[i].socket, &interest)) err(1, "epoll_ctl");
    }
    working = count;
    int64_t start = now_ns();
    for (int i = 0; i < count; i++) begin_step(&producers[i]);
    while (working) {
        struct epoll_event events[64];
        int due = send_again(producers, count);
        int found = epoll_wait(poller, events, 64, due < 0 ? 30000 : due);
        if (found == 0 && due < 0) errx(1, "no answer for 30 s: %ld of %d producers are not done", working, count);
        for (int i = 0; i < found; i++) {
            struct producer *p = events[i].data.ptr;
            if (!p->left || p->again_at) continue;
            send_some(p);
            receive_some(p);
        }
    }
    printf("%.6f %ld\n", (now_ns() - start) / 1e9, retries);
    return 0;
}

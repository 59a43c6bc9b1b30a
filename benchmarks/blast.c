/* A client that costs next to nothing, so that the broker is what is measured: it replays canned Kafka requests over
 * several connections with several in flight on each, and reads no more of an answer than says whether it worked.
 *
 *   blast produce PORT FRAME PARTITION_AT PARTITIONS CONNECTIONS IN_FLIGHT REQUESTS
 *   blast fetch   PORT FRAME PARTITION_AT PARTITIONS CONNECTIONS IN_FLIGHT REQUESTS OFFSET_AT RECORDS
 *   blast commit  PORT FRAME GROUP_AT     PARTITIONS CONNECTIONS IN_FLIGHT REQUESTS OFFSET_AT
 *
 * FRAME is a file with one Produce v9 or Fetch v12 request, length prefix included, for one partition. Request number
 * i goes to partition i % PARTITIONS; its partition index is written at byte PARTITION_AT. A fetch asks for offset
 * (i / PARTITIONS) * RECORDS, written at byte OFFSET_AT. A commit is an OffsetCommit v9 of PARTITIONS partitions, on each
 * connection for a group of its own, whose four digits are written at byte GROUP_AT; i is the offset committed.
 * Prints "SECONDS RECORD_BYTES": wall time from the first byte sent to the last answer, and bytes of records fetched.
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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 512, ANSWER_HEAD = 1024, BUFFER = 1 << 20 };

struct connection {
    int socket;
    int in_flight;
    int sending;             /* a request is partly sent */
    size_t sent;             /* bytes of it that are sent */
    char head[HEAD];         /* this connection's copy of the frame's start, with partition and offset patched in */
    unsigned char answer[ANSWER_HEAD]; /* length prefix and start of the answer being received */
    size_t answer_have;      /* bytes of the answer received so far, length prefix included */
    size_t answer_size;      /* its whole size, 0 while unknown */
};

static int fetching, committing;
static char *frame;
static size_t frame_size, head_size;
static long partition_at, partitions, in_flight_limit, requests, offset_at, records_per_request;
static long issued, answered, record_bytes;
static char buffer[BUFFER];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void prepare_next(struct connection *c) {
    if (!committing) {
        int32_t partition = htobe32(issued % partitions);
        memcpy(c->head + partition_at, &partition, sizeof partition);
    }
    if (fetching || committing) {
        int64_t offset = htobe64(committing ? issued : issued / partitions * records_per_request);
        memcpy(c->head + offset_at, &offset, sizeof offset);
    }
    issued++;
    c->in_flight++;
    c->sending = 1;
    c->sent = 0;
}

/* Sends until the window is full, all requests are issued or the socket takes no more. */
static void send_some(struct connection *c) {
    for (;;) {
        if (!c->sending) {
            if (c->in_flight >= in_flight_limit || issued >= requests) return;
            prepare_next(c);
        }
        struct iovec parts[2];
        int count = 0;
        if (c->sent < head_size) parts[count++] = (struct iovec){c->head + c->sent, head_size - c->sent};
        size_t body_sent = c->sent > head_size ? c->sent - head_size : 0;
        if (frame_size > head_size)
            parts[count++] = (struct iovec){frame + head_size + body_sent, frame_size - head_size - body_sent};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t n = sendmsg(c->socket, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "send");
        c->sent += n;
        if (c->sent == frame_size) c->sending = 0;
    }
}

static uint32_t read_uvarint(const unsigned char **at) {
    uint32_t value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80) || shift > 21) return value;
    }
}

/* Looks at the start of an answer: one topic, one partition (of a commit, all that were committed). Ends the program on any error code. */
static void check_answer(const unsigned char *at) {
    int16_t code;
    at += 4 + 4 + 1; /* length, correlation id, empty tags of response header v1 */
    if (fetching || committing) at += 4; /* throttle time */
    if (fetching) {
        memcpy(&code, at, 2);
        if (code) errx(1, "fetch answered with error code %d", (int16_t)be16toh(code));
        at += 2 + 4; /* error code, session id */
    }
    if (read_uvarint(&at) != 2) errx(1, "an answer without its topic");
    uint32_t name = read_uvarint(&at);
    at += name - 1;
    long count = committing ? partitions : 1;
    if (read_uvarint(&at) != count + 1) errx(1, "an answer without its partitions");
    for (long i = 0; i < count; i++) {
        at += i ? 4 + 2 + 1 : 4; /* error code and tags of the one before, partition index */
        memcpy(&code, at, 2);
        if (code) errx(1, "partition answered with error code %d", (int16_t)be16toh(code));
    }
    if (fetching) {
        at += 2 + 8 + 8 + 8;        /* error code, high watermark, last stable offset, log start offset */
        read_uvarint(&at);          /* aborted transactions: none */
        at += 4;                    /* preferred read replica */
        uint32_t length = read_uvarint(&at);
        record_bytes += length ? length - 1 : 0;
    }
}

static void receive_some(struct connection *c) {
    for (;;) {
        ssize_t n = recv(c->socket, buffer, BUFFER, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "recv");
        if (n == 0) errx(1, "the broker closed a connection");
        for (size_t used = 0; used < (size_t)n;) {
            size_t left = n - used;
            if (c->answer_have < ANSWER_HEAD) { /* keep the start; never read past the answer's end into the next one */
                size_t end = c->answer_size && c->answer_size < ANSWER_HEAD ? c->answer_size : ANSWER_HEAD;
                if (!c->answer_size) end = 4;
                size_t take = end - c->answer_have < left ? end - c->answer_have : left;
                memcpy(c->answer + c->answer_have, buffer + used, take);
                c->answer_have += take;
                used += take;
                if (!c->answer_size && c->answer_have == 4) {
                    uint32_t length;
                    memcpy(&length, c->answer, 4);
                    c->answer_size = 4 + (size_t)be32toh(length);
                }
            } else {
                size_t rest = c->answer_size - c->answer_have;
                size_t take = rest < left ? rest : left;
                c->answer_have += take;
                used += take;
            }
            if (c->answer_size && c->answer_have == c->answer_size) {
                check_answer(c->answer);
                answered++;
                c->in_flight--;
                c->answer_have = c->answer_size = 0;
            }
        }
        if (n < BUFFER) return;
    }
}

static void load_frame(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) err(1, "%s", path);
    frame_size = status.st_size;
    frame = malloc(frame_size);
    if (read(file, frame, frame_size) != (ssize_t)frame_size) err(1, "%s", path);
    close(file);
    head_size = frame_size < HEAD ? frame_size : HEAD;
}

static int connect_to(int port) {
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(s, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fetching = argc > 1 && !strcmp(argv[1], "fetch");
    committing = argc > 1 && !strcmp(argv[1], "commit");
    if (argc != (fetching ? 11 : committing ? 10 : 9)) errx(2, "see the head of blast.c");
    load_frame(argv[3]);
    partition_at = atol(argv[4]);
    partitions = atol(argv[5]);
    long connections = atol(argv[6]);
    in_flight_limit = atol(argv[7]);
    requests = atol(argv[8]);
    if (fetching || committing) offset_at = atol(argv[9]);
    if (fetching) records_per_request = atol(argv[10]);

    int poller = epoll_create1(0);
    struct connection *all = calloc(connections, sizeof *all);
    for (long i = 0; i < connections; i++) {
        all[i].socket = connect_to(atoi(argv[2]));
        memcpy(all[i].head, frame, head_size);
        if (committing) {
            char digits[5];
            snprintf(digits, sizeof digits, "%04ld", i % 10000);
            memcpy(all[i].head + partition_at, digits, 4);
        }
    }
    double start = now();
    for (long i = 0; i < connections; i++) {
        struct epoll_event interest = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &all[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, all[i].socket, &interest)) err(1, "epoll_ctl");
    }
    while (answered < requests) {
        struct epoll_event events[64];
        int count = epoll_wait(poller, events, 64, 30000);
        if (count == 0) errx(1, "no answer for 30 s: %ld of %ld requests answered", answered, requests);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            receive_some(c);
            send_some(c);
        }
    }
    printf("%.6f %ld\n", now() - start, record_bytes);
    return 0;
}

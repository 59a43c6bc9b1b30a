/* A client that costs next to nothing, so that the server is what is measured: it asks what it is given over HTTP/1.1, one
 * question after the other on each connection, and reads no more of an answer than its status and its length.
 *
 *   ask_http PORT REQUESTS CONNECTIONS CALLS     -> "SECONDS"
 *
 * The file REQUESTS is a list of requests, each a big-endian int32 and as many bytes. They are asked in their order, from
 * the first again after the last; a connection that has its answer takes the next one. Every answer must be a 200 with a
 * Content-Length.
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

enum { ANSWER = 65536, SHOWN = 400, STATUS_AT = 9 /* behind "HTTP/1.1 " */ };

struct request {
    const char *data;
    size_t length;
};

struct connection {
    int socket, is_waiting;
    const struct request *request;
    size_t sent, have, wanted; /* bytes of the request sent, of the answer received and expected: 0 if not known yet */
    char answer[ANSWER + 1];
};

static struct request *requests;
static long request_count, to_ask, working;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void read_requests(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) err(1, "%s", path);
    char *data = malloc(status.st_size + 1), *end = data + status.st_size;
    if (read(file, data, status.st_size) != status.st_size) err(1, "%s", path);
    close(file);
    requests = calloc(status.st_size / 4 + 1, sizeof *requests);
    while (data < end) {
        uint32_t length;
        memcpy(&length, data, 4);
        requests[request_count++] = (struct request){data + 4, be32toh(length)};
        data += 4 + be32toh(length);
    }
    if (!request_count || data != end) errx(1, "%s is no list of requests", path);
}

static void send_some(struct connection *c) {
    while (c->sent < c->request->length) {
        ssize_t n = send(c->socket, c->request->data + c->sent, c->request->length - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "send");
        c->sent += n;
    }
}

static void ask_next(struct connection *c) {
    static long next;
    c->is_waiting = to_ask > 0;
    if (!c->is_waiting) {
        working--;
        return;
    }
    to_ask--;
    c->request = &requests[next++ % request_count];
    c->sent = c->have = c->wanted = 0;
    send_some(c);
}

/* How long the answer is, once its head is there. */
static void read_head(struct connection *c) {
    c->answer[c->have] = 0;
    char *end = strstr(c->answer, "\r\n\r\n");
    if (!end) return;
    char *length = strcasestr(c->answer, "\r\ncontent-length:");
    if (strncmp(c->answer + STATUS_AT, "200", 3) || !length || length > end)
        errx(1, "%.*s was answered with %.*s", (int)strcspn(c->request->data, "\r"), c->request->data, SHOWN, c->answer);
    c->wanted = end + 4 - c->answer + strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
    if (c->wanted > ANSWER) errx(1, "an answer of %zu bytes", c->wanted);
}

static void receive_some(struct connection *c) {
    while (c->is_waiting) {
        ssize_t n = recv(c->socket, c->answer + c->have, ANSWER - c->have, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) err(1, "recv");
        if (n == 0) errx(1, "the server closed a connection");
        c->have += n;
        if (!c->wanted) read_head(c);
        if (c->wanted && c->have > c->wanted) errx(1, "an answer goes on behind its end");
        if (c->have == c->wanted) ask_next(c);
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

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 5) errx(2, "see the head of ask_http.c");
    read_requests(argv[2]);
    int count = atoi(argv[3]), poller = epoll_create1(0);
    to_ask = atol(argv[4]);
    struct connection *connections = calloc(count, sizeof *connections);
    for (int i = 0; i < count; i++) {
        connections[i].socket = connect_to(atoi(argv[1]));
        struct epoll_event interest = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &connections[i]};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].socket, &interest)) err(1, "epoll_ctl");
    }
    working = count;
    int64_t start = now_ns();
    for (int i = 0; i < count; i++) ask_next(&connections[i]);
    while (working) {
        struct epoll_event events[64];
        int found = epoll_wait(poller, events, 64, 30000);
        if (found == 0) errx(1, "no answer for 30 s on %ld connections", working);
        for (int i = 0; i < found; i++) {
            struct connection *c = events[i].data.ptr;
            if (!c->is_waiting) continue;
            send_some(c);
            receive_some(c);
        }
    }
    printf("%.6f\n", (now_ns() - start) / 1e9);
    return 0;
}

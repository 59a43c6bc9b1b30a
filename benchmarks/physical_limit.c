/* What this box can do with no broker at all: the floor under any program that takes bytes from a socket to a file
 * and from a file to a socket.
 *
 *   physical_limit receive FILE BYTES   a child sends BYTES over loopback; we recv and write them to FILE
 *   physical_limit send FILE BYTES      we sendfile BYTES of FILE to a child that receives and drops them
 *
 * Prints "SECONDS CPU_SECONDS": wall time, and processor time of the side that stands where a broker would stand.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

static char buffer[BUFFER];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The child: connects to `port`, then sends or receives `bytes`, and ends. */
static void run_child(int port, int sends, long bytes) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(s, (struct sockaddr *)&address, sizeof address)) err(1, "connect");
    while (bytes > 0) {
        size_t want = bytes < BUFFER ? bytes : BUFFER;
        ssize_t n = sends ? send(s, buffer, want, MSG_NOSIGNAL) : recv(s, buffer, want, 0);
        if (n <= 0) err(1, sends ? "send" : "recv");
        bytes -= n;
    }
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc != 4) errx(2, "usage: physical_limit receive|send FILE BYTES");
    int receives = !strcmp(argv[1], "receive");
    long bytes = atol(argv[3]), left = bytes;
    memset(buffer, 'x', sizeof buffer);

    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1)) err(1, "listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    int file = open(argv[2], receives ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);
    if (file < 0) err(1, "%s", argv[2]);

    pid_t child = fork();
    if (child < 0) err(1, "fork");
    if (child == 0) run_child(ntohs(address.sin_port), receives, bytes);
    int s = accept(listener, NULL, NULL);
    if (s < 0) err(1, "accept");

    double wall_start = now(), cpu_start = cpu();
    off_t position = 0;
    while (left > 0) {
        ssize_t n;
        if (receives) {
            n = recv(s, buffer, BUFFER, 0);
            if (n > 0 && write(file, buffer, n) != n) err(1, "write");
        } else {
            n = sendfile(s, file, &position, left < BUFFER ? left : BUFFER);
        }
        if (n <= 0) err(1, receives ? "recv" : "sendfile");
        left -= n;
    }
    double cpu_used = cpu() - cpu_start;
    int status;
    waitpid(child, &status, 0); /* sent bytes count once the other side has them */
    if (status) errx(1, "the other side failed");
    printf("%.6f %.6f\n", now() - wall_start, cpu_used);
    return 0;
}

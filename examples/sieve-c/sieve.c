/* Count primes with the sieve of Eratosthenes, several times, and print the time of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static long count_primes(unsigned char *composite, long limit) {
    long primes = 0;
    memset(composite, 0, limit + 1);
    for (long n = 2; n <= limit; n++) {
        if (composite[n]) continue;
        primes++;
        for (long multiple = n * n; multiple <= limit; multiple += n) composite[multiple] = 1;
    }
    return primes;
}

int main(int argc, char **argv) {
    long limit = argc > 1 ? atol(argv[1]) : 0;
    if (limit < 2 || limit > 100000000) {
        fprintf(stderr, "usage: sieve LIMIT (2 to 100000000)\n");
        return 2;
    }
    unsigned char *composite = malloc(limit + 1);
    if (!composite) {
        perror("sieve");
        return 1;
    }
    for (int pass = 1; pass <= 10; pass++) {
        double start = now_s();
        long primes = count_primes(composite, limit);
        printf("pass %d: primes=%ld time_ms=%.3f\n", pass, primes, (now_s() - start) * 1e3);
    }
    free(composite);
    return 0;
}

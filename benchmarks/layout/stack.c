/* A loop whose speed depends on where the stack lies.
 *
 * It writes numbers that cross a cache line at one of four alignments of the stack. The alignment follows from the
 * size of program name, arguments and environment if the kernel does not randomise addresses: start it with setarch -R.
 *
 * stack [COUNT]: prints the size of what exec copied (texts and pointers to them, modulo a page), the alignment that
 * follows from it, the alignment of the stack, and, after COUNT times 64 writes, the nanoseconds of one write. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

enum { LINE_BYTES = 64, PAGE_BYTES = 4096, ALIGNMENT = 16, LINES = 64 };

extern char **environ;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? atol(argv[1]) : 0;
    const char *program = (const char *)getauxval(AT_EXECFN);
    uintptr_t size = (uintptr_t)program + strlen(program) + 1 - (uintptr_t)argv[0];
    char buffer[(LINES + 1) * LINE_BYTES] __attribute__((aligned(ALIGNMENT))) = {0};
    int variables = 0;
    double began;

    while (environ[variables])
        variables++;
    size += sizeof(char *) * (uintptr_t)(argc + variables);
    began = now_ns();
    for (long at = 0; at < count; at++)
        for (int line = 0; line < LINES; line++)
            *(volatile uint64_t *)(void *)(buffer + 12 + line * LINE_BYTES) = (uint64_t)at;
    printf("size=%lu derived=%lu stack=%lu", (unsigned long)(size % PAGE_BYTES),
           (unsigned long)(size / ALIGNMENT * ALIGNMENT % LINE_BYTES), (unsigned long)((uintptr_t)buffer % LINE_BYTES));
    if (count > 0)
        printf(" write=%.4f", (now_ns() - began) / (double)count / LINES);
    printf("\n");
    return 0;
}

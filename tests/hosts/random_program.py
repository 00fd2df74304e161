"""Small programs that do, in an order and with numbers that are drawn, what depends on the processor and the machine:
functions of the C library that have several versions, signals with their frames, threads, children, what may be asked
of the system."""
import random

PIECES = {
    "strings": "{ char a[%(n)d + 1], b[%(n)d + 1]; memset(a, 'x', %(n)d); a[%(n)d] = 0; memcpy(b, a, sizeof a); "
        "printf(\"%%zu %%d\\n\", strlen(b), strcmp(a, b) + (strchr(b, 'y') != 0)); }",
    "moved": "{ char* a = malloc(%(n)d + 64); memset(a, %(m)d, %(n)d + 64); memmove(a + %(m)d %% 60, a, %(n)d); "
        'printf("%%d\\n", a[%(n)d]); free(a); }',
    "sorted": "{ int a[%(n)d]; unsigned s = %(m)d; for (int i = 0; i < %(n)d; ++i) a[i] = s = s * 1103515245 + "
        '12345; qsort(a, %(n)d, sizeof *a, by_value); printf("%%d\\n", a[%(n)d / 2]); }',
    "floating": "{ double sum = 0; for (int i = 1; i < %(n)d; ++i) sum += sin(i) / i + pow(i, 0.25) + exp(-i); "
        'printf("%%.17g\\n", sum); }',
    "long double": '{ long double sum = %(m)d; for (int i = 1; i < %(n)d; ++i) sum += 1.0L / i; printf("%%.18Lg\\n", '
        "sum); }",
    "supports": 'printf("%%d%%d%%d%%d%%d\\n", !!__builtin_cpu_supports("sse4.2"), !!__builtin_cpu_supports("avx2"), '
        '!!__builtin_cpu_supports("avx512f"), !!__builtin_cpu_supports("aes"), !!__builtin_cpu_supports("fma4"));',
    "capabilities": 'printf("%%lx %%lx %%lu %%s\\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2), getauxval(51), '
        "(char*)getauxval(AT_PLATFORM));",
    "system": '{ struct utsname n; uname(&n); printf("%%s %%s %%ld\\n", n.nodename, n.release, '
        "sysconf(_SC_NPROCESSORS_ONLN)); }",
    "sizes": 'printf("%%ld %%ld %%ld\\n", sysconf(_SC_PHYS_PAGES), sysconf(_SC_LEVEL2_CACHE_SIZE), '
        "sysconf(_SC_LEVEL3_CACHE_SIZE));",
    "signal": "{ signal(SIGUSR1, handler); volatile double x = %(m)d; for (int i = 0; i < %(n)d %% 20; ++i) { x *= "
        '1.5; raise(SIGUSR1); } printf("%%g %%d\\n", x, caught); }',
    "frame": "{ struct sigaction a = {.sa_sigaction = look, .sa_flags = SA_SIGINFO}; sigaction(SIGUSR2, &a, 0); "
        "raise(SIGUSR2); }",
    "fault": "{ signal(SIGSEGV, leap); for (int i = 0; i < %(n)d %% 9; ++i) if (!sigsetjmp(back, 1)) *(volatile "
        'int*)8 = i; puts("back"); }',
    "threads": "{ pthread_t t[5]; for (long i = 0; i < %(m)d %% 5; ++i) pthread_create(&t[i], 0, work, (void*)(i + "
        '%(n)d)); for (long i = 0; i < %(m)d %% 5; ++i) pthread_join(t[i], 0); printf("%%ld\\n", worked); }',
    "children": "{ for (int i = 0; i < %(m)d %% 4; ++i) { fflush(stdout); pid_t p = fork(); if (!p) { "
        'printf("%%d\\n", getpid()); exit(i); } waitpid(p, 0, 0); } }',
    "time": '{ struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("%%ld.%%ld\\n", (long)t.tv_sec, '
        "t.tv_nsec); }",
    "chance": '{ unsigned char b[%(m)d %% 40 + 1]; getrandom(b, sizeof b, 0); printf("%%d\\n", b[0]); }',
    "keys": '{ int k = syscall(330, 0, 0); printf("%%d %%d\\n", k, errno); }',
    "new calls": '{ long r = syscall(%(m)d %% 20 + 451, -1, 0, 0, 0, 0, 0); printf("%%ld %%d\\n", r, errno); }',
    "limits": '{ struct rlimit r; getrlimit(RLIMIT_NOFILE, &r); printf("%%lu\\n", (long)r.rlim_cur); '
        'getrlimit(RLIMIT_STACK, &r); printf("%%lu\\n", (long)r.rlim_cur); }',
}
PROGRAM = """
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
static int by_value(const void* a, const void* b) {
  const int one = *(const int*)a, other = *(const int*)b;
  return (one > other) - (one < other);
}
static volatile int caught;
static void handler(int n) { caught += n; volatile double x = 3; x /= 7; }
/* Every byte of the frame's state, so that what differs there is seen. */
static void look(int n, siginfo_t* i, void* c) {
  const unsigned char* state = (void*)((ucontext_t*)c)->uc_mcontext.fpregs;
  unsigned bytes = 512, sum = 0;
  if (*(const unsigned*)(state + 464) == 0x46505853) bytes = *(const unsigned*)(state + 464 + 16);
  for (unsigned b = 0; b < bytes; ++b) sum = sum * 31 + state[b];
  printf("%d %d %u %x\\n", n, i->si_code, bytes, sum);
}
static sigjmp_buf back;
static void leap(int n) { siglongjmp(back, n); }
static long worked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* a) {
  for (long i = 0; i < (long)a; ++i) { pthread_mutex_lock(&mutex); worked += i; pthread_mutex_unlock(&mutex); }
  return 0;
}
int main(void) {
@
  return 0;
}
"""


def draw(seed):
    chance = random.Random(f"host {seed}")
    body = []
    for name in chance.choices(list(PIECES), k=chance.randrange(4, 12)):
        body.append("  " + PIECES[name] % {"n": int(chance.lognormvariate(5, 1)) + 2, "m": chance.randrange(1, 200)})
    return PROGRAM.replace("@", "\n".join(body))

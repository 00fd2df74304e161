// What a program sees of the processors that its threads may run on while they take turns, and what its children inherit: what it was
// given, and what it sets itself. A second program, this one again, says what it was started with.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static cpu_set_t given;
static volatile int stop;
static pid_t ids[2];

static void compute(void) {
  for (volatile int i = 0; i < 100000; ++i) {
  }
}
static int has(pid_t thread, const cpu_set_t* wanted) {
  cpu_set_t now;
  CPU_ZERO(&now);
  if (sched_getaffinity(thread, sizeof now, &now) != 0) return errno == ESRCH && thread != 0;  // it has ended
  return CPU_EQUAL(&now, wanted);
}
// As many are told of in the thread's own file.
static int is_in_status(const cpu_set_t* wanted) {
  char line[4096];
  int count = 0;
  FILE* file = fopen("/proc/thread-self/status", "r");
  GUEST_CHECK(file != NULL);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "Cpus_allowed:", 13) != 0) continue;
    for (const char* at = line + 13; *at; ++at) {
      const char digit[2] = {*at, 0};
      count += __builtin_popcount((unsigned)strtoul(digit, NULL, 16));
    }
  }
  fclose(file);
  return count == CPU_COUNT(wanted);
}

static void* work(void* number) {
  const int me = (int)(intptr_t)number;
  ids[me] = (pid_t)syscall(SYS_gettid);
  for (int i = 0; i < 15; ++i) {
    compute();
    GUEST_CHECK(has(0, &given));
    if (ids[1 - me] != 0) GUEST_CHECK(has(ids[1 - me], &given));
    compute();
    const pid_t child = fork();
    if (child == 0) _exit(has(0, &given) ? 40 : 41);
    int status;
    GUEST_CHECK(waitpid(child, &status, 0) == child);
    GUEST_CHECK(WEXITSTATUS(status) == 40);
  }
  return NULL;
}
static void* compute_on(void* unused) {
  while (!stop) compute();
  return unused;
}

static char expected[32];
static void become_again(const char* path, char** environment) {
  char* const arguments[] = {(char*)path, expected, NULL};
  execve(path, arguments, environment);
}
static int run_again(const char* path, char** environment) {
  char* const arguments[] = {(char*)path, expected, NULL};
  pid_t child;
  int status;
  GUEST_CHECK(posix_spawn(&child, path, NULL, NULL, arguments, environment) == 0);
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}

int main(int count, char** words, char** environment) {
  CPU_ZERO(&given);
  GUEST_CHECK(sched_getaffinity(0, sizeof given, &given) == 0);
  if (count == 2) return CPU_COUNT(&given) == atoi(words[1]) ? 42 : 43;

  snprintf(expected, sizeof expected, "%d", CPU_COUNT(&given));
  pthread_t threads[3];
  for (intptr_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("threads and their children: as given");

  pthread_create(&threads[2], NULL, compute_on, NULL);
  for (int i = 0; i < 10; ++i) {
    compute();
    GUEST_CHECK(run_again(words[0], environment) == 42);
  }
  puts("another program: as given");

  cpu_set_t last;
  CPU_ZERO(&last);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &given)) continue;
    CPU_ZERO(&last);
    CPU_SET(processor, &last);
  }
  for (int i = 0; i < 10; ++i) {
    compute();
    GUEST_CHECK(sched_setaffinity(0, sizeof last, &last) == 0);
    compute();
    GUEST_CHECK(has(0, &last) && sched_getcpu() >= 0 && CPU_ISSET(sched_getcpu(), &last));
    GUEST_CHECK(sched_setaffinity(0, sizeof given, &given) == 0);
    compute();
    GUEST_CHECK(has(0, &given));
  }
  puts("what it sets itself stays");

  const pid_t child = fork();
  if (child == 0) {
    pthread_create(&threads[2], NULL, compute_on, NULL);
    for (int i = 0; i < 5; ++i) compute();
    become_again(words[0], environment);
  }
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  GUEST_CHECK(WEXITSTATUS(status) == 42);
  puts("what it becomes: as given");

  for (int i = 0; i < 10; ++i) {
    compute();
    GUEST_CHECK(is_in_status(&given));
  }
  puts("its status tells the same");
  return 0;
}

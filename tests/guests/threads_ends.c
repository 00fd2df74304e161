// Ways for a process with threads to end: the argument chooses. exit in a thread, main leaving first, exec from a
// thread, a fatal signal in one of many, detached threads left behind.
// build: dynamic -O1 -pthread
// run: exit-in-thread
// run: main-leaves
// run: exec-in-thread
// run: fault-in-thread
// run: detached
// run: cancel
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest.h"

static const char* how;
static pthread_barrier_t start;

static void* sleeper(void* unused) {
  pthread_barrier_wait(&start);
  for (;;) pause();
  return unused;
}
static void* actor(void* unused) {
  pthread_barrier_wait(&start);
  if (strcmp(how, "exit-in-thread") == 0) exit(21);
  if (strcmp(how, "exec-in-thread") == 0) execl("/bin/echo", "echo", "executed from a thread", (char*)NULL);
  if (strcmp(how, "fault-in-thread") == 0) *(volatile int*)(uintptr_t)unused = 1;
  if (strcmp(how, "main-leaves") == 0) {
    usleep(20000);
    puts("thread goes on");
    fflush(stdout);
    _exit(22);
  }
  return NULL;
}
static void cleanup(void* text) { printf("cleanup of %s\n", (const char*)text); }
static void* deferred(void* unused) {
  pthread_cleanup_push(cleanup, "deferred");
  pthread_barrier_wait(&start);
  for (;;) sleep(100);
  pthread_cleanup_pop(0);
  return unused;
}
static void* computing(void* unused) {
  int old;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  pthread_cleanup_push(cleanup, "asynchronous");
  pthread_barrier_wait(&start);
  for (volatile uint64_t x = 1;;) x = x * 3 + 1;
  pthread_cleanup_pop(0);
  return unused;
}

int main(int argc, char** argv) {
  how = argc > 1 ? argv[1] : "";
  prctl(PR_SET_DUMPABLE, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_t threads[8], one;
  if (strcmp(how, "cancel") == 0) {
    void* (*const bodies[])(void*) = {deferred, computing};
    for (int i = 0; i < 2; ++i) {
      pthread_barrier_init(&start, NULL, 2);
      pthread_create(&one, NULL, bodies[i], NULL);
      pthread_barrier_wait(&start);
      pthread_cancel(one);
      void* result;
      pthread_join(one, &result);
      printf("cancelled %d\n", result == PTHREAD_CANCELED);
    }
    return 0;
  }
  pthread_barrier_init(&start, NULL, 10);
  for (int i = 0; i < 8; ++i) {
    pthread_create(&threads[i], NULL, sleeper, NULL);
    if (strcmp(how, "detached") == 0) pthread_detach(threads[i]);
  }
  pthread_create(&one, NULL, actor, NULL);
  puts("all started");
  pthread_barrier_wait(&start);
  if (strcmp(how, "main-leaves") == 0) pthread_exit(NULL);
  pthread_join(one, NULL);
  if (strcmp(how, "detached") == 0) return 23;
  pause();
  return 1;
}

// fork from a process with threads: the child has only the forking thread, atfork handlers run, its locks work.
// build: dynamic -O1 -pthread
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile int stop;
static int prepared, in_parent, in_child;
static __thread int local;
static void prepare(void) { ++prepared; }
static void parent(void) { ++in_parent; }
static void child(void) { ++in_child; }

static void* allocate(void* unused) {
  while (!stop) free(malloc(100));
  return unused;
}
static void* forker(void* number) {
  local = (int)(intptr_t)number;
  int good = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      char* text = malloc(64);  // the allocator's locks must be free here
      snprintf(text, 64, "%d", local);
      _exit(in_child == 1 && atoi(text) == local ? 40 + local : 1);
    }
    int status;
    GUEST_CHECK(waitpid(pid, &status, 0) == pid);
    good += WEXITSTATUS(status) == 40 + local;
  }
  return (void*)(intptr_t)good;
}

int main(void) {
  pthread_atfork(prepare, parent, child);
  pthread_t noise, forkers[3];
  pthread_create(&noise, NULL, allocate, NULL);
  for (intptr_t i = 0; i < 3; ++i) pthread_create(&forkers[i], NULL, forker, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) {
    void* good;
    pthread_join(forkers[i], &good);
    printf("forker %d: %d good children\n", i + 1, (int)(intptr_t)good);
  }
  stop = 1;
  pthread_join(noise, NULL);
  printf("prepared %d parent %d\n", prepared, in_parent);
  return 0;
}

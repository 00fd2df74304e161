// Robust mutexes: the owner, a thread and then a process, ends without unlocking; the next one gets EOWNERDEAD.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static pthread_mutex_t* mutex;

static void* die_holding(void* unused) {
  (void)unused;
  pthread_mutex_lock(mutex);
  return NULL;
}
static void take_over(const char* what) {
  const int error = pthread_mutex_lock(mutex);
  printf("%s: %s\n", what, error == EOWNERDEAD ? "EOWNERDEAD" : strerror(error));
  GUEST_CHECK(pthread_mutex_consistent(mutex) == 0);
  GUEST_CHECK(pthread_mutex_unlock(mutex) == 0);
}

int main(void) {
  mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(mutex, &attributes);
  pthread_t thread;
  pthread_create(&thread, NULL, die_holding, NULL);
  pthread_join(thread, NULL);
  take_over("thread ended");
  pid_t child = fork();
  if (child == 0) {
    pthread_mutex_lock(mutex);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  take_over("process exited");
  child = fork();
  if (child == 0) {
    pthread_mutex_lock(mutex);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, NULL, 0);
  take_over("process killed");
  child = fork();
  if (child == 0) {
    pthread_mutex_lock(mutex);
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
  take_over("process replaced by execve");
  printf("free: %d\n", pthread_mutex_trylock(mutex) == 0);
  return 0;
}

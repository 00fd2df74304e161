// System V and POSIX shared memory, memfd and anonymous shared pages, between parent and child, with futexes and atomics
// across processes.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include <fcntl.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

struct Shared {
  sem_t ping, pong;
  long counter;
  char text[64];
};

static void play(struct Shared* s, const char* name) {
  sem_init(&s->ping, 1, 0);
  sem_init(&s->pong, 1, 0);
  s->counter = 0;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 200; ++i) {
      sem_wait(&s->ping);
      __atomic_fetch_add(&s->counter, 2, __ATOMIC_SEQ_CST);
      sem_post(&s->pong);
    }
    snprintf(s->text, sizeof s->text, "from the child");
    _exit(0);
  }
  for (int i = 0; i < 200; ++i) {
    __atomic_fetch_add(&s->counter, 1, __ATOMIC_SEQ_CST);
    sem_post(&s->ping);
    sem_wait(&s->pong);
  }
  waitpid(child, NULL, 0);
  printf("%s: %ld, %s\n", name, s->counter, s->text);
}

int main(void) {
  const int id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
  GUEST_CHECK(id >= 0);
  struct Shared* sysv = shmat(id, NULL, 0);
  struct Shared* twice = shmat(id, NULL, 0);
  shmctl(id, IPC_RMID, NULL);
  GUEST_CHECK(sysv != (void*)-1 && twice != sysv);
  play(sysv, "System V");
  printf("second view: %s\n", twice->text);
  GUEST_CHECK(shmdt(sysv) == 0 && shmdt(twice) == 0);
  char name[64];
  snprintf(name, sizeof name, "/zs-guest-%d", getpid());
  const int posix = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  GUEST_CHECK(posix >= 0 && ftruncate(posix, 4096) == 0);
  play(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, posix, 0), "POSIX");
  shm_unlink(name);
  const int fd = memfd_create("shared", MFD_CLOEXEC);
  GUEST_CHECK(ftruncate(fd, 4096) == 0);
  play(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "memfd");
  play(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "anonymous");
  return 0;
}

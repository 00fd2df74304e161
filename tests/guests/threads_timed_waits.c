// build: dynamic -pthread
// A thread waits with a limit for what two others compute, which name themselves, write to /dev/null and ask what it is meanwhile: how often its limit ends shows in what retires.
// run:
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kPieces = 40, kRounds = 200000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int left = 2 * kPieces;
static char piece[8192];

static void* compute(void* out) {
  prctl(PR_SET_NAME, "computes");  // as many libraries do in each of their threads
  for (int i = 0; i < kPieces; ++i) {
    volatile unsigned sum = 0;
    for (unsigned k = 0; k < kRounds; ++k) sum += k;
    if (write(*(int*)out, piece, sizeof piece) != sizeof piece) _exit(1);
    isatty(*(int*)out);
    pthread_mutex_lock(&lock);
    if (--left == 0) pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(void) {
  int out = open("/dev/null", O_WRONLY);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], 0, compute, &out) != 0) return 1;
  }
  pthread_mutex_lock(&lock);
  while (left != 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
      ++until.tv_sec;
      until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&done, &lock, &until);
  }
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  return 0;
}

// AddressSanitizer: its shadow takes [0x7fff8000, 0x10007fff8000), and at the end a process that shares the memory stops every thread and
// looks for leaks in what it holds. UndefinedBehaviorSanitizer says what it finds and goes on.
// build: dynamic -fsanitize=address,undefined
// compiler: GNU
// run: clean
// run: leak
// run: overflow
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "guest.h"

static char* volatile kept;
static pthread_barrier_t all_here;

static void* hold(void* unused) {
  char* volatile own = malloc(50);  // known to this thread alone
  strcpy(own, "held");
  pthread_barrier_wait(&all_here);
  pause();
  return unused;
}

int main(int count, char** words) {
  pthread_barrier_init(&all_here, 0, 4);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, hold, 0);
  }
  pthread_barrier_wait(&all_here);
  kept = malloc(100);
  memset(kept, count, 100);
  if (count > 1 && strcmp(words[1], "leak") == 0) {
    char* volatile lost = malloc(77);
    lost[0] = 1;
    lost = 0;
  }
  volatile int large = INT_MAX;
  large = large + count;
  printf("%d %d\n", kept[99], large);
  fflush(stdout);
  if (count > 1 && strcmp(words[1], "overflow") == 0) kept[100] = 1;
  return 0;
}

/* Small blocks of the heap, one for each of four threads, that malloc lays side by side. With -DAPART each has lines of its own.
   cc -O1 -g -pthread -o heap_blocks examples/sharing/heap_blocks.c */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4, kTimes = 50000 };
struct job {
  volatile long done;
  long wanted;
};

static __attribute__((noinline)) struct job* new_job(void) {
#ifdef APART
  struct job* const job = aligned_alloc(64, 64);
#else
  struct job* const job = malloc(sizeof(struct job));
#endif
  if (job == 0) exit(1);
  job->done = 0;
  job->wanted = kTimes;
  return job;
}

static void* work(void* which) {
  struct job* const job = which;
  while (job->done < job->wanted) ++job->done;
  return 0;
}

int main(void) {
  struct job* jobs[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) jobs[i] = new_job();
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], 0, work, jobs[i]) != 0) return 1;
  }
  long sum = 0;
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], 0);
    sum += jobs[i]->done;
    free(jobs[i]);
  }
  printf("%ld\n", sum);
  return 0;
}

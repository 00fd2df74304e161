/* Structs given by value and in parts, and pointers that functions return. */
#include "truth.h"

struct slice { long *values; long length; };
struct stats { long least, most; double mean; };
struct job { struct slice data; struct stats stats; struct job *after; };

NEVER_INLINE static struct stats measure(struct slice data)
{
  struct stats stats = {data.values[0], data.values[0], 0};
  for (long i = 0; i < data.length; ++i) {
    if (data.values[i] < stats.least) stats.least = data.values[i];
    if (data.values[i] > stats.most) stats.most = data.values[i];
    stats.mean += (double)data.values[i];
  }
  stats.mean /= (double)data.length;
  return stats;
}
NEVER_INLINE static struct job *last_of(struct job *job)
{
  while (job->after) job = job->after;
  return job;
}
NEVER_INLINE static double run(struct job *first)
{
  double sum = 0;
  for (struct job *job = first; job; job = job->after) {
    job->stats = measure(job->data);
    sum += job->stats.mean;
  }
  last_of(first)->stats.most++;
  return sum + (double)last_of(first)->stats.least;
}

int main(void)
{
  struct job *first = NULL;
  for (int i = 0; i < 40; ++i) {
    struct job *job = calloc(1, sizeof *job);
    job->data.length = 20;
    job->data.values = malloc(20 * sizeof(long));
    for (int j = 0; j < 20; ++j) job->data.values[j] = i * j % 13;
    job->after = first;
    first = job;
  }
  double sum = 0;
  for (int i = 0; i < 60; ++i) sum += run(first);
  FIELD(struct job, data.values);
  FIELD(struct job, data.length);
  FIELD(struct job, stats.least);
  FIELD(struct job, stats.most);
  FIELD(struct job, stats.mean);
  FIELD(struct job, after);
  for (struct job *job = first; job; job = job->after) {
    object("struct job", job, sizeof *job, 1, "*");
    object("long int", job->data.values, sizeof(long), 20, "*");
  }
  return sum < 0;
}

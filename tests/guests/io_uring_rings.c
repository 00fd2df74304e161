// io_uring: its rings are mapped where the kernel wants them; a linked write and read through a pipe, by the calling thread.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  struct io_uring_params p;
  memset(&p, 0, sizeof p);
  const int ring = (int)syscall(SYS_io_uring_setup, 8, &p);
  if (ring < 0) {
    printf("no io_uring: %d\n", errno);
    return 0;
  }
  const int rw = PROT_READ | PROT_WRITE;
  char* const sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned), rw, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  char* const cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), rw, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe* const entries = mmap(NULL, p.sq_entries * sizeof *entries, rw, MAP_SHARED, ring, IORING_OFF_SQES);
  if (sq == MAP_FAILED || cq == MAP_FAILED || entries == MAP_FAILED) {
    printf("rings cannot be mapped: %d\n", errno);
    return 1;
  }
  int ends[2];
  if (pipe(ends) != 0) return 1;
  char got[16] = "";
  memset(entries, 0, 2 * sizeof *entries);
  entries[0].opcode = IORING_OP_WRITE;
  entries[0].flags = IOSQE_IO_LINK;
  entries[0].fd = ends[1];
  entries[0].addr = (unsigned long)"through";
  entries[0].len = 7;
  entries[0].user_data = 1;
  entries[1].opcode = IORING_OP_READ;
  entries[1].fd = ends[0];
  entries[1].addr = (unsigned long)got;
  entries[1].len = 7;
  entries[1].user_data = 2;
  unsigned* const array = (unsigned*)(void*)(sq + p.sq_off.array);
  array[0] = 0;
  array[1] = 1;
  atomic_store((_Atomic unsigned*)(void*)(sq + p.sq_off.tail), 2);
  printf("enter %ld\n", syscall(SYS_io_uring_enter, ring, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0));
  const struct io_uring_cqe* const done = (const struct io_uring_cqe*)(const void*)(cq + p.cq_off.cqes);
  for (int i = 0; i < 2; ++i) printf("%llu: %d\n", (unsigned long long)done[i].user_data, done[i].res);
  printf("%s\n", got);
  munmap(sq, p.sq_off.array + p.sq_entries * sizeof(unsigned));
  close(ring);
  return 0;
}

// A program that measures itself: what the kernel counts is there, hardware is not (as in a virtual machine without a PMU).
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long watched;

static int open_event(uint32_t type, uint64_t config) {
  struct perf_event_attr attr = {.size = sizeof attr, .type = type, .config = config, .disabled = 1, .exclude_kernel = 1};
  if (type == PERF_TYPE_BREAKPOINT) {
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = (uint64_t)&watched;
    attr.bp_len = HW_BREAKPOINT_LEN_8;
  }
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

int main(void) {
  printf("without an attribute: %ld %d\n", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), errno);
  const int clock = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  const int faults = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
  printf("task-clock %d page-faults %d\n", clock >= 0, faults >= 0);
  if (clock < 0) return 0;
  ioctl(clock, PERF_EVENT_IOC_ENABLE, 0);
  for (volatile int i = 0; i < 100000; ++i) {
  }
  ioctl(clock, PERF_EVENT_IOC_DISABLE, 0);
  uint64_t value = 0;
  printf("read %zd", read(clock, &value, sizeof value));
  printf(" more than nothing %d\n", value > 1000);
  void* const ring = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, clock, 0);
  printf("its page is mapped %d\n", ring != MAP_FAILED);
  const int writes = open_event(PERF_TYPE_BREAKPOINT, 0);
  if (writes >= 0) {
    ioctl(writes, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < 5; ++i) ((volatile long*)&watched)[0] = i;
    ioctl(writes, PERF_EVENT_IOC_DISABLE, 0);
    if (read(writes, &value, sizeof value) == sizeof value) printf("writes watched: %ld\n", (long)value);
  }
  return 0;
}

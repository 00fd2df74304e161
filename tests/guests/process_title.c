// A process that gives itself a title, as daemons do: its arguments elsewhere (PR_SET_MM_MAP, which needs no privilege),
// then piece by piece (PR_SET_MM_ARG_START and its kin), and what is refused.
// build: dynamic -O1
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest.h"

static void tell(const char* what, int result) { printf("%s: %s\n", what, result == 0 ? "done" : strerror(errno)); }

static void show(const char* file) {
  char shown[200] = "";
  const int fd = open(file, O_RDONLY);
  const ssize_t got = read(fd, shown, sizeof shown - 1);
  close(fd);
  printf("%s: %zd %s\n", file, got, shown);
}

// As far as a program can know it, from /proc/self/stat: fields 26 to 28 and 45 to 51.
static struct prctl_mm_map now(void) {
  char text[2000] = "";
  unsigned long long field[53] = {0};
  const int fd = open("/proc/self/stat", O_RDONLY);
  GUEST_CHECK(read(fd, text, sizeof text - 1) > 0);
  close(fd);
  char* at = strrchr(text, ')') + 2;
  for (int i = 3; i < 53 && at != NULL; ++i) {
    sscanf(at, "%llu", &field[i]);
    at = strchr(at, ' ');
    if (at != NULL) ++at;
  }
  return (struct prctl_mm_map){.start_code = field[26], .end_code = field[27], .start_stack = field[28],
                               .start_data = field[45], .end_data = field[46], .start_brk = field[47],
                               .brk = (unsigned long)sbrk(0), .arg_start = field[48], .arg_end = field[49],
                               .env_start = field[50], .env_end = field[51], .exe_fd = -1};
}

static int set(struct prctl_mm_map map) { return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0); }

int main(void) {
  unsigned size = 0;
  tell("size", prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0));
  printf("%u\n", size == sizeof(struct prctl_mm_map));
  char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  strcpy(page, "service: serving");
  struct prctl_mm_map map = now();
  map.arg_start = (unsigned long)page;
  map.arg_end = map.arg_start + strlen(page) + 1;
  tell("map", set(map));
  show("/proc/self/cmdline");
  strcpy(page, "service: waiting");
  show("/proc/self/cmdline");
  map.env_start = (unsigned long)strcpy(page + 100, "A=B");
  map.env_end = map.env_start + 4;
  tell("environment", set(map));
  show("/proc/self/environ");
  GUEST_CHECK(malloc(1 << 20) != NULL && sbrk(4096) != (void*)-1);

  tell("of another size", prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map - 8, 0));
  tell("not readable", prctl(PR_SET_MM, PR_SET_MM_MAP, 8, sizeof map, 0));
  struct prctl_mm_map wrong = map;
  wrong.arg_end = wrong.arg_start - 1;
  tell("ends before its beginning", set(wrong));
  wrong = map;
  wrong.start_code = 1UL << 60;
  tell("no address", set(wrong));
  wrong = map;
  wrong.brk = 1UL << 60;
  tell("no heap", set(wrong));
  wrong = map;
  wrong.start_brk = wrong.brk + 4096;
  tell("a heap that ends before its beginning", set(wrong));

  const int may = prctl(PR_SET_MM, PR_SET_MM_ARG_START, page + 9, 0, 0);
  printf("piece by piece: %d\n", may == 0 || errno == EPERM);
  if (may == 0) show("/proc/self/cmdline");
  return 0;
}

// PROCMAP_QUERY (Linux 6.11): a program asks its open /proc/self/maps for the mapping at an address, as profilers do.
// What is asked for, which mapping it is, its name and build-id, and what is wrong with a query. Where the kernel has
// none, it says so.
// build: dynamic -O1 -Wl,--build-id=0x0123456789abcdef
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

struct query {
  uint64_t size, flags, address, start, end, mapping_flags, page_size, offset, inode;
  uint32_t device_major, device_minor, name_size, build_id_size;
  uint64_t name, build_id;
};
enum { kWritable = 2, kExecutable = 4, kShared = 8, kOrNext = 16, kOfFile = 32 };
static const unsigned long kQuery = 0xC0686611;
static int maps;
static char name[4096];
static unsigned char build_id[32];

static int ask(struct query query) { return ioctl(maps, kQuery, &query) == 0 ? 0 : errno; }

static void show(const char* what, const void* at, uint64_t flags, const void* from) {
  struct query query = {.size = sizeof query, .flags = flags, .address = (uint64_t)at, .name_size = sizeof name,
                        .build_id_size = sizeof build_id, .name = (uint64_t)name, .build_id = (uint64_t)build_id};
  if (ioctl(maps, kQuery, &query) != 0) return (void)printf("%s: %s\n", what, strerror(errno));
  const char* const last = query.name_size != 0 && strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
  printf("%s: at %lld, %lld pages of %lld, flags %llx, offset %llx, inode %d, %s, build-id %u", what,
         (long long)(query.start - (uint64_t)from), (long long)(query.end - query.start) / 4096,
         (long long)query.page_size, (unsigned long long)query.mapping_flags, (unsigned long long)query.offset,
         query.inode != 0, query.name_size != 0 ? last : "no name", query.build_id_size);
  for (unsigned i = 0; i < query.build_id_size; ++i) printf(" %02x", build_id[i]);
  puts("");
}

int main(void) {
  maps = open("/proc/self/maps", O_RDONLY);
  if (ask((struct query){.size = sizeof(struct query), .address = (uint64_t)&maps}) == ENOTTY) {
    puts("no PROCMAP_QUERY here");
    return 0;
  }
  // A gap, three pages that differ, another gap, a shared page, a gap.
  char* const at = mmap((void*)0x300000000000, 16 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(at, 16 << 12);
  mmap(at + 4096, 3 << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  mprotect(at + 8192, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  const int file = open("/proc/self/exe", O_RDONLY);
  mmap(at + 6 * 4096, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);

  show("in the middle", at + 4096 + 77, 0, at);
  show("another protection", at + 8192, 0, at);
  show("in a gap", at, 0, at);
  show("behind a gap", at, kOrNext, at);
  show("that is executable", at, kOrNext | kExecutable, at);
  show("executable here", at + 4096, kExecutable, at);
  show("of a file", at + 4096, kOrNext | kOfFile, at);
  show("shared", at, kOrNext | kShared, at);
  show("written and shared", at, kWritable | kShared, at);
  show("variables", &maps, 0, &maps - ((uint64_t)&maps % 4096) / sizeof maps);
  show("stack", &(int){0}, kOfFile, NULL);
  const struct query right = {.size = sizeof right, .address = (uint64_t)at + 4096};
  struct query wrong = right;
  wrong.size = 16;
  printf("too small %d, ", ask(wrong));
  wrong.size = 4097;
  printf("too large %d, ", ask(wrong));
  wrong = right;
  wrong.flags = 64;
  printf("unknown flag %d, ", ask(wrong));
  wrong = right;
  wrong.name_size = 10;
  printf("nowhere for the name %d, ", ask(wrong));
  wrong = right;
  wrong.address = (uint64_t)at + 6 * 4096;
  wrong.name = (uint64_t)name;
  wrong.name_size = 2;
  printf("no room for the name %d, ", ask(wrong));
  printf("behind all %d, ", ask((struct query){.size = sizeof right, .address = UINT64_C(1) << 60, .flags = kOrNext}));
  printf("no structure %d\n", ioctl(maps, kQuery, 8) == 0 ? 0 : errno);
  return 0;
}

// An allocator that stands before libc's where it is preloaded: what malloc and its kin give lies in an array, one block behind the
// other, and is not given again. Its functions call one another.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static char arena[64 << 20];
static size_t used;

static void* take(size_t alignment, size_t bytes) {
  const size_t room = bytes + alignment + sizeof bytes + 16;
  const size_t at = __atomic_fetch_add(&used, room / 16 * 16, __ATOMIC_RELAXED);
  if (at + room > sizeof arena) return NULL;
  const size_t start = (at + sizeof bytes + alignment - 1 + (size_t)arena) / alignment * alignment - (size_t)arena;
  memcpy(arena + start - sizeof bytes, &bytes, sizeof bytes);
  return arena + start;
}

void* malloc(size_t bytes) { return take(16, bytes); }
void free(void* p) { (void)p; }
void* aligned_alloc(size_t alignment, size_t bytes) { return take(alignment < 16 ? 16 : alignment, bytes); }
void* memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
int posix_memalign(void** p, size_t alignment, size_t bytes) {
  *p = aligned_alloc(alignment, bytes);
  return *p == NULL ? ENOMEM : 0;
}
void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void* const p = malloc(bytes);
  return p == NULL ? NULL : memset(p, 0, bytes);
}
void* realloc(void* old, size_t bytes) {
  void* const p = malloc(bytes);
  if (p == NULL || old == NULL) return p;
  size_t before = 0;
  memcpy(&before, (char*)old - sizeof before, sizeof before);
  memcpy(p, old, before < bytes ? before : bytes);
  free(old);
  return p;
}
void* reallocarray(void* old, size_t count, size_t size) {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : realloc(old, bytes);
}

// build: dynamic -pthread -ldl
// The heap, block by block: what touch_X reads and writes was asked for in make_X, and in nothing else. Blocks come from every
// function of the allocator, small ones and such as are mapped on their own; they are given back, and others get their addresses;
// they grow where they are and elsewhere; threads have some and a child too. What touch_freed reads was given back, and what
// touch_mapping reads is no block. So each sample says by its function what its data must be called (tests/memory/heap_test.py).
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#define APART __attribute__((noinline, noclone))

namespace {

/// Neither a call that is the last of its function nor what is known of a pointer survives this.
template <typename T>
T* hidden(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

constexpr long kRounds = 6;

}  // namespace

extern "C" {

// Nothing but accesses to the block: no call, no stack.
#define TOUCH(name)                                       \
  APART long touch_##name(volatile long* p, long words) { \
    asm volatile("# " #name);                             \
    long sum = 0;                                         \
    for (long round = 0; round < kRounds; ++round) {      \
      for (long i = 0; i < words; ++i) {                  \
        p[i] = round + i;                                 \
        sum += p[i];                                      \
      }                                                   \
    }                                                     \
    return sum;                                           \
  }
#define SITE(name, expression)                                                                 \
  APART long* make_##name([[maybe_unused]] long* old, long words) {                            \
    [[maybe_unused]] const std::size_t bytes = static_cast<std::size_t>(words) * sizeof(long); \
    asm volatile("# " #name);                                                                  \
    return static_cast<long*>(hidden<void>(expression));                                       \
  }                                                                                            \
  TOUCH(name)

APART void* xmalloc(std::size_t bytes) { return hidden(std::malloc(bytes)); }

[[gnu::always_inline]] static inline void* into(std::size_t bytes) {
  void* p = nullptr;
  return posix_memalign(&p, 4096, bytes) == 0 ? p : nullptr;
}

SITE(plain, std::malloc(bytes))
SITE(reused, std::malloc(bytes))
SITE(zeroed, std::calloc(static_cast<std::size_t>(words), sizeof(long)))
SITE(grown, std::realloc(old, bytes))
SITE(array, reallocarray(old, static_cast<std::size_t>(words), sizeof(long)))
SITE(aligned, std::aligned_alloc(256, bytes))
SITE(into, into(bytes))
SITE(large, std::malloc(bytes))
SITE(wrapped, xmalloc(bytes))
SITE(by_new, ::operator new(bytes))
SITE(by_aligned_new, ::operator new (bytes, std::align_val_t{512}))
SITE(by_allocator, std::allocator<long>().allocate(static_cast<std::size_t>(words)))
SITE(copied, strdup(reinterpret_cast<const char*>(old)))
SITE(thread_0, std::malloc(bytes))
SITE(thread_1, std::malloc(bytes))
SITE(thread_2, std::malloc(bytes))
SITE(parent, std::malloc(bytes))
SITE(child, std::malloc(bytes))
TOUCH(mapping)

APART long touch_freed(volatile long* p, long words) {
  long sum = 0;
  for (long round = 0; round < kRounds; ++round) {
    for (long i = 8; i < words; ++i) sum += p[i];
  }
  return sum;
}
}

namespace {

long sum = 0;

/// A block is made, touched, given back, and made again by somebody else at the same place.
void reuse() {
  for (int i = 0; i < 8; ++i) {
    long* const p = make_plain(nullptr, 100 + i);
    sum += touch_plain(p, 100 + i);
    std::free(p);
    long* const q = make_reused(nullptr, 100 + i);
    if (p != q) std::puts("not the same place");
    sum += touch_reused(q, 100 + i);
    std::free(q);
  }
}

void grow() {
  long* p = make_plain(nullptr, 300);
  sum += touch_plain(p, 300);
  long* const between = make_zeroed(nullptr, 50);
  p = make_grown(p, 900);  // elsewhere
  sum += touch_grown(p, 900);
  sum += touch_zeroed(between, 50);
  p = make_grown(p, 200);  // where it is
  sum += touch_grown(p, 200);
  p = make_array(p, 40000);  // by a mapping
  sum += touch_array(p, 40000);
  std::free(p);
  std::free(between);
}

void other_functions() {
  long* const aligned = make_aligned(nullptr, 512);
  sum += touch_aligned(aligned, 512);
  long* const into = make_into(nullptr, 700);
  sum += touch_into(into, 700);
  long* const large = make_large(nullptr, 60000);
  sum += touch_large(large, 60000);
  long* const wrapped = make_wrapped(nullptr, 200);
  sum += touch_wrapped(wrapped, 200);
  long* const by_new = make_by_new(nullptr, 210);
  sum += touch_by_new(by_new, 210);
  long* const by_aligned_new = make_by_aligned_new(nullptr, 220);
  sum += touch_by_aligned_new(by_aligned_new, 220);
  long* const by_allocator = make_by_allocator(nullptr, 230);
  sum += touch_by_allocator(by_allocator, 230);
  std::memset(aligned, 'x', 512 * sizeof(long));
  aligned[500] = 0;
  long* const copied = make_copied(aligned, 0);
  sum += touch_copied(copied, 500);
  std::free(aligned);
  std::free(into);
  std::free(large);
  std::free(wrapped);
  ::operator delete(by_new);
  ::operator delete (by_aligned_new, std::align_val_t{512});
  std::allocator<long>().deallocate(by_allocator, 230);
  std::free(copied);
}

void no_blocks() {
  constexpr long kWords = 2000;
  long* const freed = make_plain(nullptr, kWords);
  long* const behind = make_plain(nullptr, 10);  // so that it stays where it is
  long* const same = hidden(freed);
  std::free(freed);
  volatile long whatever = touch_freed(same, kWords);
  static_cast<void>(whatever);
  std::free(behind);
  void* const mapping =
      mmap(nullptr, kWords * sizeof(long), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return;
  sum += touch_mapping(static_cast<long*>(mapping), kWords);
  munmap(mapping, kWords * sizeof(long));
}

template <long* (*make)(long*, long), long (*touch)(volatile long*, long)>
void* thread(void*) {
  long mine = 0;
  for (long i = 0; i < 40; ++i) {
    long* const p = make(nullptr, 60 + i);
    mine += touch(p, 60 + i);
    std::free(p);
  }
  return reinterpret_cast<void*>(mine);
}

void in_threads() {
  pthread_t threads[3];
  pthread_create(&threads[0], nullptr, thread<make_thread_0, touch_thread_0>, nullptr);
  pthread_create(&threads[1], nullptr, thread<make_thread_1, touch_thread_1>, nullptr);
  pthread_create(&threads[2], nullptr, thread<make_thread_2, touch_thread_2>, nullptr);
  for (const pthread_t one : threads) {
    void* result = nullptr;
    pthread_join(one, &result);
    sum += reinterpret_cast<long>(result);
  }
}

void in_child() {
  long* const ours = make_parent(nullptr, 400);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    sum += touch_parent(ours, 400);
    std::free(ours);
    long* const p = make_child(nullptr, 400);
    sum += touch_child(p, 400);
    _exit(sum == 0);
  }
  sum += touch_parent(ours, 400);
  int status = 0;
  waitpid(child, &status, 0);
  sum += status + touch_parent(ours, 400);
  std::free(ours);
}

}  // namespace

/// A library's blocks, which is loaded when the program runs already.
void in_library([[maybe_unused]] const char* path) {
#if !defined(HEAP_SITES_STATIC)
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::puts(dlerror());
    return;
  }
  const auto make = reinterpret_cast<decltype(&make_plain)>(dlsym(library, "make_loaded"));
  const auto touch = reinterpret_cast<decltype(&touch_plain)>(dlsym(library, "touch_loaded"));
  long* const p = make(nullptr, 500);
  sum += touch(p, 500);
  std::free(p);
#endif
}

/// arguments  --no-child, --alone (nor threads): what the kernel numbers its processes and threads is in nobody's registers then;
///            --load LIBRARY
int main(int argc, char** argv) {
  const char* const without = argc > 1 ? argv[1] : "";
  reuse();
  grow();
  other_functions();
  no_blocks();
  if (std::strcmp(without, "--alone") != 0) in_threads();
  if (std::strcmp(without, "--alone") != 0 && std::strcmp(without, "--no-child") != 0) in_child();
  if (std::strcmp(without, "--load") == 0 && argc > 2) in_library(argv[2]);
  std::printf("%ld\n", sum);
  return 0;
}

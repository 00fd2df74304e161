// Regions that the source marks, with work of known length between the marks: one after the other, nested, in threads, in a
// signal handler, and left by an exception and by longjmp. tests/windows knows the numbers.
// build: dynamic -pthread
// run:
// run: 8
#include <zeroskid/region.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

// 1 + 2n instructions, n of them branches.
#define WORK(n) asm volatile("mov %0, %%ecx\n1: dec %%ecx\n jnz 1b" : : "i"(n) : "ecx", "cc")

namespace {

jmp_buf landing;

[[gnu::noinline]] int function(int n) {
  WORK(50);
  return n + 1;
}

[[gnu::noinline]] void nested() {
  ZS_REGION_BEGIN("outer");
  WORK(10);
  ZS_REGION_BEGIN("inner");
  WORK(100);
  ZS_REGION_END("inner");
  WORK(20);
  ZS_REGION_END("outer");
}

[[gnu::noinline]] void throws() {
  ZS_REGION("thrown");
  WORK(40);
  throw std::runtime_error("out of a region");
}

[[gnu::noinline]] void jumps() {
  ZS_REGION_BEGIN("around");
  if (setjmp(landing) == 0) {
    ZS_REGION_BEGIN("jumped");
    WORK(60);
    longjmp(landing, 1);
  }
  ZS_REGION_END("around");
}

void on_signal(int) {
  ZS_REGION_BEGIN("handler");
  WORK(30);
  ZS_REGION_END("handler");
}

[[gnu::noinline]] void recursive(int depth) {
  ZS_REGION_BEGIN("recursive");
  WORK(5);
  if (depth > 0) recursive(depth - 1);
  ZS_REGION_END("recursive");
}

void work_in_thread() {
  for (int i = 0; i < 10; ++i) {
    ZS_REGION_BEGIN("thread");
    WORK(1000);
    ZS_REGION_END("thread");
  }
}

}  // namespace

int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) nested();
  for (int i = 0; i < 5; ++i) {
    try {
      throws();
    } catch (const std::runtime_error&) {
      ++sum;
    }
  }
  jumps();
  signal(SIGUSR1, on_signal);
  ZS_REGION_BEGIN("signalled");
  raise(SIGUSR1);
  ZS_REGION_END("signalled");
  recursive(2);
  ZS_REGION_END("never begun");
  std::vector<std::thread> threads;
  for (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; --i) threads.emplace_back(work_in_thread);
  for (std::thread& thread : threads) thread.join();
  std::printf("%d\n", function(sum));
}

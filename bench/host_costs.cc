// host_costs: what this machine charges for the things that short programs do much of, one "name value" a line, times
// in nanoseconds. bench/commands prints them, because a ratio to native says little without them.
#include <asm/prctl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(125);
}

/// The least of five series: what else the machine does only adds.
template <typename Act>
double cost(int times, Act act) {
  double least = 1e18;
  for (int series = 0; series < 5; ++series) {
    const double start = now_ns();
    for (int i = 0; i < times; ++i) act();
    least = std::min(least, (now_ns() - start) / times);
  }
  return least;
}

double first_touch() {
  constexpr std::size_t kPage = 4096;
  constexpr int kPages = 4096;
  double least = 1e18;
  for (int series = 0; series < 5; ++series) {
    void* memory = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    check(madvise(memory, kPages * kPage, MADV_NOHUGEPAGE) == 0, "madvise");
    auto* bytes = static_cast<volatile char*>(memory);
    const double start = now_ns();
    for (std::size_t page = 0; page < kPages; ++page) bytes[page * kPage] = 1;
    least = std::min(least, (now_ns() - start) / kPages);
    munmap(memory, kPages * kPage);
  }
  return least;
}

void ignore_signal(int) {}

void start_true() {
  std::array<char, 10> path{"/bin/true"};
  std::array<char*, 2> words{path.data(), nullptr};
  pid_t child = 0;
  check(posix_spawn(&child, path.data(), nullptr, nullptr, words.data(), environ) == 0, "posix_spawn /bin/true");
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
}

}  // namespace

int main() {
  constexpr unsigned long kHwcap2Fsgsbase = 2;
  std::printf("fsgsbase %d\n", (getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0 ? 1 : 0);
  std::printf("system_call %.0f\n", cost(100'000, [] { syscall(SYS_getppid); }));
  std::printf("arch_prctl %.0f\n", cost(100'000, [] {
                std::uint64_t base = 0;
                syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
              }));
  std::printf("first_touch %.0f\n", first_touch());
  struct sigaction action {};
  action.sa_handler = ignore_signal;
  check(sigaction(SIGUSR1, &action, nullptr) == 0, "sigaction");
  std::printf("signal %.0f\n", cost(20'000, [] { raise(SIGUSR1); }));
  std::printf("start_true %.0f\n", cost(50, start_true));
}

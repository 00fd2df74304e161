// measure FILE COMMAND...: runs COMMAND and writes "wall user system peak_kib status" to FILE, times in seconds, of it and
// the children it waited for. Small on purpose: the peak that the kernel reports for a new program is never below
// that of the process that forked it.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace {
double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }
double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: measure FILE COMMAND [ARGUMENTS]\n", stderr);
    return 129;
  }
  std::FILE* out = std::fopen(argv[1], "we");
  if (out == nullptr) {
    std::perror(argv[1]);
    return 125;
  }
  const double start = now();
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    std::perror("measure");
    return 125;
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::fprintf(out, "%.6f %.6f %.6f %ld %d\n", now() - start, seconds(usage.ru_utime), seconds(usage.ru_stime),
               usage.ru_maxrss, code);
  return std::fclose(out) == 0 ? 0 : 125;
}

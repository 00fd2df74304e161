// measure FILE COMMAND...: runs COMMAND and writes "wall user system peak_kib status" to FILE. The times are in
// seconds: wall until COMMAND ends, user and system of it and all its descendants, those that it does not wait for
// included (a browser's helpers). The peak is that of the largest of these processes. Not counted: children of a
// process that ignores SIGCHLD, whose times the kernel keeps nowhere. Small on purpose: the peak that the kernel
// reports for a new program is never below that of the process that forked it.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

namespace {
double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }
double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Waits for the descendants that `command` left behind. False: some are still there after ten seconds.
bool wait_for_orphans() {
  const double start = now();
  while (now() - start < 10) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return errno == ECHILD;
    if (ended == 0) usleep(1000);
  }
  return false;
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
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    std::perror("measure: PR_SET_CHILD_SUBREAPER");
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
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("measure");
    return 125;
  }
  const double wall = now() - start;
  if (!wait_for_orphans()) {
    std::fprintf(stderr, "measure: processes that %s started still run 10 s after it ended; their time is unknown\n",
                 argv[2]);
    return 124;
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::fprintf(out, "%.6f %.6f %.6f %ld %d\n", wall, seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss,
               code);
  return std::fclose(out) == 0 ? 0 : 125;
}

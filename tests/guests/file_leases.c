// Leases on files: taken, asked for, broken by a child that opens the file, refused where somebody has it open.
// build: dynamic
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t broken, of_descriptor;
static void on_break(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  of_descriptor = info->si_fd;
  ++broken;
}

static void ask(const char* what, int fd, int kind) {
  errno = 0;
  const int result = fcntl(fd, F_SETLEASE, kind);
  printf("%s: %d %s, is %d\n", what, result, result == 0 ? "" : strerror(errno), fcntl(fd, F_GETLEASE));
}

int main(int argc, char** argv) {
  (void)argc;
  struct sigaction action = {.sa_sigaction = on_break, .sa_flags = SA_SIGINFO};
  sigaction(SIGRTMIN, &action, 0);
  const int fd = open("leased", O_RDWR | O_CREAT | O_TRUNC, 0600);
  GUEST_CHECK(fd >= 0);
  ask("write lease", fd, F_WRLCK);
  GUEST_CHECK(fcntl(fd, F_SETSIG, SIGRTMIN) == 0);
  sigset_t blocked, none;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &blocked, 0);
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      close(fd);
      const int again = open("leased", round == 1 ? O_WRONLY : O_RDONLY);
      _exit(again < 0 ? 9 : write(again, "x", 1) == 1);
    }
    while (broken == round) sigsuspend(&none);
    printf("broken %d times, descriptor as opened: %d, going to %d\n", (int)broken, of_descriptor == fd, fcntl(fd, F_GETLEASE));
    GUEST_CHECK(fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    GUEST_CHECK(fcntl(fd, F_SETLEASE, F_WRLCK) == 0 && fcntl(fd, F_SETSIG, SIGRTMIN) == 0);
  }
  ask("let go", fd, F_UNLCK);
  const int other = open("leased", O_RDONLY);
  ask("write lease of an open file", fd, F_WRLCK);
  ask("read lease of a file open for writing", other, F_RDLCK);
  close(fd);
  ask("read lease", other, F_RDLCK);
  char* const mapped = mmap(0, 4096, PROT_READ, MAP_PRIVATE, other, 0);
  GUEST_CHECK(mapped != MAP_FAILED);
  ask("write lease of a mapped file", other, F_WRLCK);
  // What runs.
  const int self = open(argv[0], O_RDONLY);
  GUEST_CHECK(self >= 0);
  ask("read lease of the program", self, F_RDLCK);
  ask("write lease of the program", self, F_WRLCK);
  unlink("leased");
  return 0;
}

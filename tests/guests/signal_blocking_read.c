// A signal during a blocking read: EINTR without SA_RESTART; with it the read goes on and returns what comes later.
// build: dynamic -O1
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static volatile sig_atomic_t handled;
static int write_end;
static void interrupt_only(int signal) {
  (void)signal;
  ++handled;
}
static void interrupt_and_write(int signal) {
  (void)signal;
  if (++handled == 3) (void)!write(write_end, "late", 4);
}

static void read_with(int flags, void (*handler)(int), const char* name) {
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0);
  write_end = ends[1];
  handled = 0;
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 10000}, {0, 10000}};
  setitimer(ITIMER_REAL, &every, NULL);
  char buffer[8] = "";
  const ssize_t n = read(ends[0], buffer, 7);
  const int error = errno;
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  if (n < 0) printf("%s: %s after %d\n", name, error == EINTR ? "EINTR" : strerror(error), handled);
  else printf("%s: '%s' after at least 3: %d\n", name, buffer, handled >= 3);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  read_with(0, interrupt_only, "without SA_RESTART");
  read_with(SA_RESTART, interrupt_and_write, "with SA_RESTART");
  signal(SIGALRM, interrupt_only);
  alarm(1);
  const unsigned left = sleep(100);  // nanosleep is never restarted by a handler
  printf("sleep interrupted with time left: %d\n", left >= 98);
  return 0;
}

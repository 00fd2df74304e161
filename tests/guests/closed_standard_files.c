// A program started with stdin, stdout and stderr closed: the first files it opens get 0, 1, 2, and nothing of the tool's
// may land there. It reports through a file that it writes itself and through its exit status.
// build: dynamic -O1
// run: report.txt
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const pid_t child = fork();
  if (child != 0) {
    int status;
    waitpid(child, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    return 0;
  }
  if (strcmp(argv[1], "inner") != 0) {
    char* path = realpath("/proc/self/exe", NULL);
    const int report = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0644);
    GUEST_CHECK(report >= 0 && dup2(report, 40) == 40);
    close(report);
    close(0);
    close(1);
    close(2);
    execl(path, "again", "inner", (char*)NULL);
    _exit(2);
  }
  const int first = open("/dev/null", O_RDWR), second = open("/dev/null", O_RDWR), third = open("/dev/null", O_RDWR);
  dprintf(40, "opened as %d %d %d\n", first, second, third);
  puts("lost");
  fflush(stdout);
  _exit(first * 100 + second * 10 + third);
}

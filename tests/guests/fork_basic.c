// fork: memory is copied, descriptors and offsets are shared, exit statuses come back, stdio buffers are doubled.
// build: dynamic -O1
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

int main(void) {
  int value = 1, ends[2];
  char* heap = malloc(1000);
  strcpy(heap, "parent");
  printf("in the buffer of both");  // no newline: flushed by parent and child
  GUEST_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    value = 2;
    strcpy(heap, "child");
    const int n = snprintf(NULL, 0, "%s", heap);
    GUEST_CHECK(write(ends[1], heap, (size_t)n) == n);
    printf(" (child: parent is %s)\n", getppid() != 1 ? "alive" : "gone");
    exit(33);
  }
  close(ends[1]);
  char text[16] = "";
  GUEST_CHECK(read(ends[0], text, 15) == 5);
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  printf("\nchild said %s, exit %d; here %d %s\n", text, WEXITSTATUS(status), value, heap);

  FILE* file = tmpfile();
  fflush(stdout);
  for (int i = 0; i < 8; ++i) {
    if (fork() == 0) {
      for (int k = 0; k < 100; ++k) GUEST_CHECK(write(fileno(file), "x", 1) == 1);  // one shared offset
      _exit(i);
    }
  }
  int sum = 0;
  while (wait(&status) > 0) sum += WEXITSTATUS(status);
  printf("statuses %d bytes %ld\n", sum, (long)lseek(fileno(file), 0, SEEK_END));
  return 0;
}

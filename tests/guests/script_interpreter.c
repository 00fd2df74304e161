// execve of scripts: a #! line with and without an argument, a script whose interpreter is a script, one found in PATH,
// one without a #! line through execvp.
// build: dynamic -O1
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static void make(const char* name, const char* text) {
  const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0700);
  GUEST_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
}
static void run(const char* path, const char* argument) {
  const pid_t child = fork();
  if (child == 0) {
    execlp(path, "argv0", argument, "second", (char*)NULL);
    _exit(99);
  }
  int status;
  waitpid(child, &status, 0);
  printf("status %d\n", WEXITSTATUS(status));
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  char directory[] = "/tmp/scripts-XXXXXX", text[256], path[4096];
  GUEST_CHECK(mkdtemp(directory) != NULL && chdir(directory) == 0);
  make("plain", "#!/bin/sh\necho plain: \"$1\" \"$2\" $#; exit 3\n");
  make("with-argument", "#! /bin/sh -e  \necho flags $-: $1; false; echo never\n");
  make("echoes", "#!/bin/echo told by echo\n");
  snprintf(text, sizeof text, "#!%s/plain\n", directory);
  make("of-a-script", text);
  make("no-line", "echo no line: $1 $#\n");
  run("./plain", "first");
  run("./with-argument", "first");
  GUEST_CHECK(chdir("/") == 0);
  snprintf(path, sizeof path, "%s:/usr/bin:/bin", directory);
  setenv("PATH", path, 1);
  run("no-line", "first");
  GUEST_CHECK(chdir(directory) == 0);
  const int fd = dup(1);  // paths below carry the random directory: count their words only
  int ends[2];
  GUEST_CHECK(pipe(ends) == 0 && dup2(ends[1], 1) == 1);
  run("./echoes", "first");
  run("./of-a-script", "first");
  dup2(fd, 1);
  close(ends[1]);
  char output[2048];
  size_t used = 0;
  for (ssize_t n; (n = read(ends[0], output + used, sizeof output - 1 - used)) > 0;) used += (size_t)n;
  output[used] = 0;
  int words = 0;
  for (char* word = strtok(output, " \n"); word; word = strtok(NULL, " \n")) ++words;
  printf("words %d\n", words);
  const char* const names[] = {"plain", "with-argument", "echoes", "of-a-script", "no-line"};
  for (int i = 0; i < 5; ++i) unlink(names[i]);
  rmdir(directory);
  return 0;
}

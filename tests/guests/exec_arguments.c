// What execve hands over: argv[0] different from the path, an empty string and odd bytes as arguments, a large
// environment, many arguments; the child prints what arrived.
// build: dynamic -O1
#define _GNU_SOURCE
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

extern char** environ;

static int report(int argc, char** argv) {
  uint64_t sum = GUEST_SUM;
  int variables = 0;
  for (int i = 0; i < argc; ++i) sum = guest_sum(sum, argv[i], strlen(argv[i]) + 1);
  for (char** e = environ; *e; ++e, ++variables) sum = guest_sum(sum, *e, strlen(*e) + 1);
  const char* path = (const char*)getauxval(AT_EXECFN);
  printf("argc %d argv[0] '%s' variables %d sum %016llx execfn ends %s\n", argc, argv[0], variables, (unsigned long long)sum,
         strrchr(path, '/') ? strrchr(path, '/') : path);
  return argc & 127;
}
static void run(char** argv, char** environment) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execve("/proc/self/exe", argv, environment);
    perror("execve");
    _exit(99);
  }
  int status;
  waitpid(child, &status, 0);
  printf("status %d\n", WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  if (getenv("REPORT")) return report(argc, argv);
  char* plain[] = {"REPORT=1", NULL};
  run((char*[]){"a name that is no path", "", "two words", "\xff\xfe\t\n", "--", NULL}, plain);
  run((char*[]){"", NULL}, plain);
  static char* many[3001];
  for (int i = 0; i < 3000; ++i) many[i] = i % 7 ? "argument" : "x";
  run(many, plain);
  static char big[3][100000];
  for (int i = 0; i < 3; ++i) {
    memset(big[i], 'a' + i, sizeof big[i] - 1);
    memcpy(big[i], "BIG?=", 5);
    big[i][3] = (char)('0' + i);
  }
  static char* environment[502] = {"REPORT=1", big[0], big[1], big[2]};
  for (int i = 4; i < 501; ++i) environment[i] = "SMALL=value";
  run((char*[]){"big", NULL}, environment);
  return 0;
}

// What a program learns of itself from /proc: its executable, command line, name, mappings, environment, status, file
// descriptors. A tool that lives in the same process must not show.
// build: dynamic -O1
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

static char buffer[1 << 20];
static size_t slurp(const char* path) {
  FILE* file = fopen(path, "r");
  GUEST_CHECK(file != NULL);
  const size_t n = fread(buffer, 1, sizeof buffer - 1, file);
  fclose(file);
  buffer[n] = 0;
  return n;
}

int main(int argc, char** argv) {
  char path[4096], by_pid[64];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n] = 0;
  printf("exe %s\n", strrchr(path, '/') + 1);
  snprintf(by_pid, sizeof by_pid, "/proc/%d/exe", getpid());
  n = readlink(by_pid, path, sizeof path - 1);
  path[n] = 0;
  printf("exe by pid %s\n", strrchr(path, '/') + 1);
  slurp("/proc/self/cmdline");
  printf("cmdline is argv[0]: %d, arguments %d\n", strcmp(buffer, argv[0]) == 0, argc - 1);
  slurp("/proc/self/comm");
  printf("comm %s", buffer);
  slurp("/proc/self/stat");
  char* name = strchr(buffer, '(');
  printf("stat names %.*s pid right %d\n", (int)(strrchr(buffer, ')') - name + 1), name, atoi(buffer) == getpid());
  slurp("/proc/self/status");
  printf("status %.15s threads %s\n", buffer, strstr(buffer, "Threads:\t1\n") ? "1" : "more");
  prctl(PR_SET_NAME, "renamed");
  slurp("/proc/self/comm");
  printf("renamed comm %s", buffer);

  slurp("/proc/self/maps");
  const char* base = strrchr(path, '/') + 1;
  int own = 0, stack = 0, heap = 0, writable_code = 0, main_found = 0, zeroskid = strstr(buffer, "zeroskid") != NULL;
  free(malloc(100));
  for (char* line = strtok(buffer, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned long start, end;
    char mode[8];
    GUEST_CHECK(sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && start < end);
    own += strstr(line, base) != NULL;
    stack += strstr(line, "[stack]") != NULL && (uintptr_t)&n >= start && (uintptr_t)&n < end;
    heap += strstr(line, "[heap]") != NULL;
    writable_code += strstr(mode, "wx") != NULL;
    main_found += (uintptr_t)&main >= start && (uintptr_t)&main < end && strstr(line, base) && mode[2] == 'x';
  }
  printf("maps: own file %d stack %d heap %d main %d writable code %d tool %d\n", own > 1, stack, heap, main_found, writable_code, zeroskid);

  DIR* directory = opendir("/proc/self/fd");
  int descriptors = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) descriptors += entry->d_name[0] != '.';
  closedir(directory);
  printf("descriptors %d\n", descriptors);  // 0, 1, 2 and this directory
  directory = opendir("/proc/self/task");
  int tasks = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) tasks += entry->d_name[0] != '.';
  closedir(directory);
  printf("tasks %d\n", tasks);
  slurp("/proc/self/environ");
  printf("environ mentions the tool: %d\n", strcasestr(buffer, "zeroskid") != NULL);
  printf("preload %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
  return 0;
}

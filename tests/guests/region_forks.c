// Regions across fork, vfork, execve and the ends of processes and threads; tests/windows knows the numbers.
// build: dynamic -pthread
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zeroskid/region.h>

// 1 + 2n instructions, n of them branches.
#define WORK(n) __asm__ volatile("mov %0, %%ecx\n1: dec %%ecx\n jnz 1b" : : "i"(n) : "ecx", "cc")

static void* thread(void* unused) {
  ZS_REGION_BEGIN("left by its thread");
  WORK(20);
  pthread_exit(unused);
}

int main(int argc, char** argv) {
  if (argc > 1) {  // the second image
    ZS_REGION_BEGIN("second image");
    WORK(30);
    ZS_REGION_END("second image");
    ZS_REGION_END("left by execve");
    return 0;
  }
  ZS_REGION_BEGIN("open at fork");
  const pid_t child = fork();
  if (child == 0) {
    WORK(50);
    ZS_REGION_END("open at fork");
    ZS_REGION_BEGIN("child");
    WORK(70);
    ZS_REGION_END("child");
    ZS_REGION_BEGIN("left by _exit");
    WORK(10);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  ZS_REGION_BEGIN("parent");
  WORK(40);
  ZS_REGION_END("parent");
  ZS_REGION_END("open at fork");
  pthread_t other;
  pthread_create(&other, NULL, thread, NULL);
  pthread_join(other, NULL);
  const pid_t image = vfork();
  if (image == 0) {
    ZS_REGION_BEGIN("left by execve");
    WORK(60);
    execl(argv[0], argv[0], "second", (char*)NULL);
    _exit(1);
  }
  waitpid(image, NULL, 0);
  printf("done\n");
  return 0;
}

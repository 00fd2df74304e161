// Who has a filter of system calls: threads and processes made later, the other threads where that is asked for, and what is
// executed; who may set one, and what is wrong with one.
// build: dynamic -O1 -pthread
#define _GNU_SOURCE
#include "seccomp.h"

#include <linux/capability.h>
#include <pthread.h>

static const struct sock_filter kAllow[] = {RETURN(SECCOMP_RET_ALLOW)};
static int error_of(long result) { return result == -1 ? errno : (int)result; }

static void show(const char* who) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "Seccomp", 7) == 0) printf("%s: %s", who, line);
  fclose(status);
  printf("%s: %d %d\n", who, prctl(PR_GET_SECCOMP), error_of(syscall(kNoCall)));
}
static void child(void) { show("child"); }

static pthread_barrier_t meets;
static void* waits(void* unused) {
  pthread_barrier_wait(&meets);
  pthread_barrier_wait(&meets);
  show("other thread");
  pthread_barrier_wait(&meets);
  pthread_barrier_wait(&meets);
  show("other thread, synchronized");
  return unused;
}
static void* later(void* unused) {
  show("later thread");
  return unused;
}
static void threads(void) {
  pthread_t thread;
  pthread_barrier_init(&meets, NULL, 2);
  GUEST_CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
  pthread_barrier_wait(&meets);
  answer_call(kNoCall, SECCOMP_RET_ERRNO | ENOTTY, 0);
  pthread_barrier_wait(&meets);
  pthread_barrier_wait(&meets);
  answer_call(kNoCall, SECCOMP_RET_ERRNO | EDOM, SECCOMP_FILTER_FLAG_TSYNC);
  pthread_barrier_wait(&meets);
  pthread_join(thread, NULL);
  GUEST_CHECK(pthread_create(&thread, NULL, later, NULL) == 0 && pthread_join(thread, NULL) == 0);
}
static void* diverges(void* tid) {
  answer_call(kNoCall, SECCOMP_RET_ERRNO | EDOM, 0);
  *(long*)tid = syscall(SYS_gettid);
  pthread_barrier_wait(&meets);
  pthread_barrier_wait(&meets);
  return NULL;
}
static void threads_diverge(void) {
  pthread_t thread;
  long tid = 0;
  pthread_barrier_init(&meets, NULL, 2);
  GUEST_CHECK(pthread_create(&thread, NULL, diverges, &tid) == 0);
  pthread_barrier_wait(&meets);
  GUEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  printf("names the other thread: %d\n", set_filter(kAllow, 1, SECCOMP_FILTER_FLAG_TSYNC) == tid);
  printf("%d\n", error_of(set_filter(kAllow, 1, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH)));
  printf("%d\n", prctl(PR_GET_SECCOMP));
  pthread_barrier_wait(&meets);
  pthread_join(thread, NULL);
}
static void wrong(void) {
  struct __user_cap_header_struct of = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  GUEST_CHECK(syscall(SYS_capset, &of, none) == 0);
  printf("%d\n", error_of(set_filter(kAllow, 1, 0)));
  GUEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  const struct sock_filter modulo[] = {INSN(BPF_ALU | BPF_MOD | BPF_K, 3), kAllow[0]};
  const struct sock_filter odd[] = {INSN(BPF_LD | BPF_W | BPF_ABS, 2), kAllow[0]};
  const struct sock_filter behind[] = {INSN(BPF_LD | BPF_W | BPF_ABS, 64), kAllow[0]};
  const struct sock_filter far[] = {JUMP(BPF_JA, 1, 0, 0), kAllow[0]};
  const struct sock_filter endless[] = {LOAD(nr)};
  const struct sock_filter unwritten[] = {INSN(BPF_LD | BPF_MEM, 0), INSN(BPF_RET | BPF_A, 0)};
  const struct sock_filter zero[] = {INSN(BPF_ALU | BPF_DIV | BPF_K, 0), kAllow[0]};
  printf("%d %d %d %d\n", error_of(set_filter(modulo, 2, 0)), error_of(set_filter(odd, 2, 0)),
         error_of(set_filter(behind, 2, 0)), error_of(set_filter(far, 2, 0)));
  printf("%d %d %d\n", error_of(set_filter(endless, 1, 0)), error_of(set_filter(unwritten, 2, 0)),
         error_of(set_filter(zero, 2, 0)));
  printf("%d %d %d %d\n", error_of(set_filter(kAllow, 0, 0)), error_of(set_filter(kAllow, 5000, 0)),
         error_of(set_filter(NULL, 1, 0)), error_of(set_filter(kAllow, 1, 1u << 20)));
  printf("%d %d\n", error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL)),
         error_of(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8)));
  printf("%d %d %d\n", error_of(syscall(SYS_seccomp, 9, 0, NULL)), error_of(prctl(PR_SET_SECCOMP, 3, 0)),
         error_of(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL)));
  printf("%d\n", prctl(PR_GET_SECCOMP));
  GUEST_CHECK(set_filter(kAllow, 1, 0) == 0);
  printf("%d\n", error_of(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)));
}
static void executed(void) {
  answer_call(kNoCall, SECCOMP_RET_ERRNO | ENOTTY, 0);
  answer_call(SYS_getppid, SECCOMP_RET_ERRNO | EDOM, 0);
  fflush(stdout);
  execl("/proc/self/exe", "again", "more", NULL);
}
static void not_executed(void) {
  answer_call(SYS_execve, SECCOMP_RET_ERRNO | EPERM, 0);
  printf("%d\n", error_of(execl("/proc/self/exe", "again", "more", NULL)));
}

int main(int argc, char** argv) {
  show(argv[0][0] == 'a' ? "executed" : "first");
  if (argc > 1) return error_of(syscall(SYS_getppid));
  in_child("wrong", wrong);
  in_child("threads", threads);
  in_child("threads that diverge", threads_diverge);
  in_child("executed", executed);
  in_child("not executed", not_executed);
  answer_call(kNoCall, SECCOMP_RET_ERRNO | ENOTTY, 0);
  answer_call(kNoCall, SECCOMP_RET_ERRNO | EXDEV, 0);
  in_child("child", child);
  return 0;
}

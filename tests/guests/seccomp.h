// What guests with filters of system calls share.
#ifndef SECCOMP_H
#define SECCOMP_H
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define INSN(code, k) ((struct sock_filter)BPF_STMT(code, k))
#define JUMP(code, k, jt, jf) ((struct sock_filter)BPF_JUMP(BPF_JMP | (code), k, jt, jf))
#define LOAD(field) INSN(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) INSN(BPF_RET | BPF_K, action)
// A call that no kernel has.
enum { kNoCall = 5000 };

static inline long set_filter(const struct sock_filter* program, size_t instructions, unsigned flags) {
  struct sock_fprog prog = {(unsigned short)instructions, (struct sock_filter*)program};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}
// `number` gets `action`, all else is allowed.
static inline void answer_call(int number, unsigned action, unsigned flags) {
  const struct sock_filter program[] = {LOAD(nr), JUMP(BPF_JEQ, number, 0, 1), RETURN(action),
                                        RETURN(SECCOMP_RET_ALLOW)};
  GUEST_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  GUEST_CHECK(set_filter(program, 4, flags) == 0);
}
static inline void in_child(const char* name, void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  GUEST_CHECK(child >= 0);
  if (child == 0) {
    body();
    fflush(stdout);
    _exit(0);
  }
  int status;
  GUEST_CHECK(waitpid(child, &status, 0) == child);
  printf("%s: %s %d\n", name, WIFEXITED(status) ? "status" : "signal",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}
#endif

/* What an exact profile with calling contexts is held against: runs a program by single steps and keeps a stack of its
   calls for each stack it is on.
     stepper OUT MAIN STACKS SIZE COUNT -- PROGRAM...
   MAIN     address of main
   STACKS   where COUNT stacks of SIZE bytes lie, beside which the program has its own
   OUT gets a line for each instruction of each context: times, pc, return addresses from the innermost; a return address
   that is there twice only where it lies last. Before main nothing is written. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostFrames = 100000, kMostStacks = 64, kTable = 1 << 20 };
struct Frame { uint64_t returns_to, at; };
struct Stack { struct Frame *frames; long depth; };
struct Context { uint64_t *callers; long depth; };
struct Row { uint64_t pc; int context; uint64_t times; };

static struct Stack stacks[kMostStacks];
static struct Context contexts[kTable];
static int contexts_made;
static struct Row rows[kTable];
static int context_index[kTable];
static uint64_t stacks_at, stack_size, stack_count;
static pid_t child;

static uint64_t hash(uint64_t h, uint64_t x) { return (h ^ x) * 0x9E3779B97F4A7C15u ^ h >> 29; }

static int stack_of(uint64_t sp) {
  return sp > stacks_at && sp <= stacks_at + stack_size * stack_count ? 1 + (int)((sp - 1 - stacks_at) / stack_size) : 0;
}

static int context_of(const struct Stack *stack) {
  static uint64_t callers[kMostFrames];
  long depth = 0;
  for (long i = stack->depth; i-- > 0;) {
    long j = 0;
    while (j < depth && callers[j] != stack->frames[i].returns_to) ++j;
    if (j == depth) callers[depth++] = stack->frames[i].returns_to;
  }
  uint64_t h = depth;
  for (long i = 0; i < depth; ++i) h = hash(h, callers[i]);
  for (uint64_t at = h % kTable;; at = (at + 1) % kTable) {
    const int found = context_index[at] - 1;
    if (found < 0) {
      struct Context *made = &contexts[contexts_made];
      made->callers = malloc(8 * depth + 8);
      memcpy(made->callers, callers, 8 * depth);
      made->depth = depth;
      context_index[at] = ++contexts_made;
      return contexts_made - 1;
    }
    if (contexts[found].depth == depth && memcmp(contexts[found].callers, callers, 8 * depth) == 0) return found;
  }
}

static void count(uint64_t pc, int context) {
  for (uint64_t at = hash(pc, context) % kTable;; at = (at + 1) % kTable) {
    struct Row *row = &rows[at];
    if (row->times == 0) { row->pc = pc; row->context = context; }
    if (row->pc == pc && row->context == context) { ++row->times; return; }
  }
}

static void push(struct Stack *stack, uint64_t returns_to, uint64_t at) {
  if (stack->frames == NULL) stack->frames = malloc(sizeof(struct Frame) * kMostFrames);
  if (stack->depth == kMostFrames) { fprintf(stderr, "stepper: too deep\n"); exit(3); }
  stack->frames[stack->depth++] = (struct Frame){returns_to, at};
}

static int is_call(const uint8_t *code) {
  for (;; ++code) {
    if (code[0] == 0xE8) return 1;
    if (code[0] == 0xFF) return (code[1] >> 3 & 7) == 2;
    if (!(code[0] == 0xF2 || code[0] == 0x3E || code[0] == 0x66 || code[0] == 0x67 || (code[0] & 0xF0) == 0x40)) return 0;
  }
}

int main(int argc, char **argv) {
  if (argc < 8) return 2;
  const uint64_t main_at = strtoull(argv[2], NULL, 16);
  stacks_at = strtoull(argv[3], NULL, 16);
  stack_size = strtoull(argv[4], NULL, 0);
  stack_count = strtoull(argv[5], NULL, 0);
  child = fork();
  if (child == 0) {
    personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(argv[7], argv + 7);
    _exit(127);
  }
  int status, on = 0, now = -1, signal_number = 0;
  waitpid(child, &status, 0);
  while (WIFSTOPPED(status)) {
    struct user_regs_struct before, after;
    ptrace(PTRACE_GETREGS, child, 0, &before);
    errno = 0;
    uint64_t code[2] = {(uint64_t)ptrace(PTRACE_PEEKTEXT, child, before.rip, 0), 0};
    code[1] = (uint64_t)ptrace(PTRACE_PEEKTEXT, child, before.rip + 8, 0);
    const int delivers = signal_number;
    ptrace(PTRACE_SINGLESTEP, child, 0, signal_number);
    signal_number = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) { /* in its last system call */
      if (on) count(before.rip, context_of(&stacks[stack_of(before.rsp)]));
      break;
    }
    ptrace(PTRACE_GETREGS, child, 0, &after);
    const int stopped_by = WSTOPSIG(status);
    if (stopped_by != SIGTRAP) {
      signal_number = stopped_by; /* it has not retired, or has before the signal came */
      if (after.rip == before.rip) continue;
    }
    struct Stack *stack = &stacks[stack_of(before.rsp)];
    if (delivers != 0) { /* at the handler's first instruction */
      struct Stack *on_stack = &stacks[stack_of(after.rsp)];
      if (on_stack != stack) {
        on_stack->depth = 0; /* what was interrupted waits there, too */
        for (long i = 0; i < stack->depth; ++i) push(on_stack, stack->frames[i].returns_to, UINT64_MAX);
      }
      push(on_stack, before.rip, on_stack == stack ? before.rsp - 128 : UINT64_MAX);
      push(on_stack, (uint64_t)ptrace(PTRACE_PEEKDATA, child, after.rsp, 0), after.rsp);
      now = -1;
      continue;
    }
    if (after.rip == before.rip) continue; /* a REP string instruction goes on */
    if (before.rip == main_at) on = 1;
    if (on) {
      if (now < 0) now = context_of(stack);
      count(before.rip, now);
    }
    struct Stack *next = &stacks[stack_of(after.rsp)];
    if (next != stack) now = -1;
    if (is_call((const uint8_t *)code)) {
      push(next, (uint64_t)ptrace(PTRACE_PEEKDATA, child, after.rsp, 0), after.rsp);
      now = -1;
    }
    for (; next->depth != 0 && next->frames[next->depth - 1].at < after.rsp; --next->depth) now = -1;
  }
  FILE *out = fopen(argv[1], "w");
  for (int i = 0; i < kTable; ++i) {
    if (rows[i].times == 0) continue;
    fprintf(out, "%lu %lx", rows[i].times, rows[i].pc);
    for (long j = 0; j < contexts[rows[i].context].depth; ++j) fprintf(out, " %lx", contexts[rows[i].context].callers[j]);
    fprintf(out, "\n");
  }
  return fclose(out) != 0;
}

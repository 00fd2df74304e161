#include "engine/kernel/calls/interrupt_calls.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace zs::engine {
namespace {

// open is with O_LARGEFILE, which only 64-bit programs have unasked.
constexpr struct {
  std::uint32_t number;
  long native;
} kInterrupts[] = {
    {1, SYS_exit},       {2, SYS_fork},         {3, SYS_read},     {4, SYS_write},     {5, SYS_open},
    {6, SYS_close},      {8, SYS_creat},        {9, SYS_link},     {10, SYS_unlink},   {12, SYS_chdir},
    {15, SYS_chmod},     {20, SYS_getpid},      {27, SYS_alarm},   {29, SYS_pause},    {33, SYS_access},
    {36, SYS_sync},      {37, SYS_kill},        {38, SYS_rename},  {39, SYS_mkdir},    {40, SYS_rmdir},
    {41, SYS_dup},       {42, SYS_pipe},        {45, SYS_brk},     {57, SYS_setpgid},  {60, SYS_umask},
    {63, SYS_dup2},      {64, SYS_getppid},     {65, SYS_getpgrp}, {66, SYS_setsid},   {83, SYS_symlink},
    {85, SYS_readlink},  {91, SYS_munmap},      {94, SYS_fchmod},  {118, SYS_fsync},   {122, SYS_uname},
    {125, SYS_mprotect}, {132, SYS_getpgid},    {133, SYS_fchdir}, {143, SYS_flock},   {158, SYS_sched_yield},
    {183, SYS_getcwd},   {199, SYS_getuid},     {200, SYS_getgid}, {201, SYS_geteuid}, {202, SYS_getegid},
    {224, SYS_gettid},   {252, SYS_exit_group}, {270, SYS_tgkill}, {331, SYS_pipe2},   {355, SYS_getrandom},
    {243, kSetSegment},  {244, kGetSegment}};

}  // namespace

long number_behind_interrupt(std::uint32_t number) {
  const auto* const found = std::ranges::find(kInterrupts, number, [](const auto& call) { return call.number; });
  return found != std::end(kInterrupts) ? found->native : kRefusedInterrupt;
}

// The kernel keeps them for the thread, whichever instruction asks for that.
long call_about_segment(const GuestMemory& memory, long number, long descriptor) {
  if (memory.map.is_tools(static_cast<std::uint64_t>(descriptor))) return -EFAULT;
  long result = number == kSetSegment ? 243 : 244;
  asm volatile("int $0x80" : "+a"(result) : "b"(descriptor) : "memory", "r8", "r9", "r10", "r11");
  return result;
}

}  // namespace zs::engine

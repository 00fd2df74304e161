#include "base/start_up.h"

#include <elf.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/own_image.h"

extern "C" void zs_populate_image();

namespace zs {
namespace {

constexpr std::uint64_t kPage = 4096;

// Neither libc nor its thread-local variables are there at zs_start.
void populate(std::uint64_t start, std::uint64_t end) {
  constexpr long kPopulateWrite = 23;  // Linux 5.14. Older kernels do not know it, and pages come fault by fault.
  start &= ~(kPage - 1);
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_madvise), "D"(start), "S"(end - start), "d"(kPopulateWrite)
               : "rcx", "r11", "memory");
}

}  // namespace

void populate_heap() {
  void* volatile first = std::malloc(1);
  const auto start = reinterpret_cast<std::uint64_t>(first), end = reinterpret_cast<std::uint64_t>(sbrk(0));
  constexpr std::uint64_t kMost = std::uint64_t{256} << 10;
  if (start < end && end - start < kMost) populate(start, end);
  std::free(first);
}

void use_large_heap_pages() {
  constexpr int kAhead = 64 << 20, kAnySize = 1 << 30;
  if (mallopt(M_TOP_PAD, kAhead) == 0 || mallopt(M_MMAP_THRESHOLD, kAnySize) == 0) return;
  constexpr std::size_t kMoreThanThereIs = 1 << 20;
  void* volatile first = std::malloc(kMoreThanThereIs);
  const auto start = reinterpret_cast<std::uint64_t>(first) & ~(kPage - 1);
  const auto end = reinterpret_cast<std::uint64_t>(sbrk(0));
  if (start < end) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
  std::free(first);
}

}  // namespace zs

void zs_populate_image() {
  const std::uint64_t bias = zs::own_bias();
  std::uint64_t constants_end = 0;
  for (const Elf64_Phdr& it : zs::own_segments()) {
    if (it.p_type == PT_GNU_RELRO) constants_end = it.p_vaddr + it.p_memsz;
  }
  for (const Elf64_Phdr& it : zs::own_segments()) {
    if (it.p_type == PT_LOAD && (it.p_flags & PF_W) != 0)
      zs::populate(bias + std::max(it.p_vaddr, constants_end), bias + it.p_vaddr + it.p_memsz);
  }
}

// The registers and the stack are as the kernel or the dynamic loader left them when C's own entry begins.
asm(R"(
  .text
  .globl zs_start
  .type zs_start, @function
zs_start:
  push %rdx
  push %rdi
  mov %rsp, %rbp
  and $-16, %rsp
  call zs_populate_image
  mov %rbp, %rsp
  pop %rdi
  pop %rdx
  xor %ebp, %ebp
  jmp _start
  .size zs_start, . - zs_start
)");

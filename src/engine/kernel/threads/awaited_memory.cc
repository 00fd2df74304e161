#include "engine/kernel/threads/awaited_memory.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/raw_syscall.h"

namespace zs::engine {

void AwaitedMemory::note_ioctl(const CallArguments& made, long result) {
  if (result != 0 || static_cast<unsigned>(made.a[1]) != UFFDIO_REGISTER) return;
  const auto given = read_guest_value<uffdio_register>(made.u(2));
  if (!given) return;
  awaited_.push_back({given->range.start, given->range.start + given->range.len});
  if (std::ranges::find(descriptors_, made.a[0]) == descriptors_.end()) descriptors_.push_back(made.a[0]);
  run_.lock.look_for_waits_of_memory();
}

bool AwaitedMemory::contains(std::uint64_t address) const {
  return std::ranges::any_of(awaited_, [&](const AddressRange& range) { return range.contains(address); });
}

void AwaitedMemory::touch_without_lock(AddressRange range, bool write) {
  Thread& thread = *run_.thread;
  touching_.fetch_add(1);
  turns_.give_up();
  // This thread's own variables only, until the lock is back.
  for (std::uint64_t at = range.start; at < range.end && thread.pending.load() == 0; at = page_down(at) + kPageSize)
    zs_touch(at, write);
  touching_.fetch_sub(1);
  turns_.come_back(thread);
}

long AwaitedMemory::read_again(const CallArguments& made, long result) const {
  if (result != -EAGAIN || std::ranges::find(descriptors_, made.a[0]) == descriptors_.end()) return result;
  // It runs a few instructions until then, if it has a processor. Who touches memory of another descriptor does so for
  // longer.
  constexpr timespec kShort{.tv_sec = 0, .tv_nsec = 200'000};
  constexpr int kTimes = 100;
  for (int i = 0; i < kTimes && result == -EAGAIN && touching_.load() != 0; ++i) {
    raw_syscall(SYS_nanosleep, &kShort, nullptr);
    result = raw_syscall(made.number, made.a[0], made.a[1], made.a[2]);
  }
  return result;
}

void AwaitedMemory::wait_for_operands() {
  const auto insn = isa::decode(run_.thread->pc, run_.code->fetch(run_.thread->pc));
  if (!insn) return;
  AddressRange ranges[2] = {};
  for (unsigned i = 0; i < insn->memory_count; ++i) {
    const std::uint64_t at = accountant_.steps.effective_address(insn->memory[i], insn->next());
    ranges[i] = {at, at + std::max<std::uint32_t>(insn->memory[i].bytes, 1)};
  }
  for (unsigned i = 0; i < insn->memory_count; ++i) {
    if (contains(ranges[i].start) || contains(ranges[i].end - 1)) touch_without_lock(ranges[i], insn->memory[i].write);
  }
}

void AwaitedMemory::wait_for_arguments(const CallArguments& made) {
  for (const long argument : made.a) {
    const auto at = static_cast<std::uint64_t>(argument);
    if (contains(at)) touch_without_lock({at, at + 1}, false);
  }
}

}  // namespace zs::engine

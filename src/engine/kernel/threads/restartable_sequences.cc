#include "engine/kernel/threads/restartable_sequences.h"

#include <cerrno>
#include <cstddef>
#include <optional>

#include "engine/memory/layout.h"

namespace zs::engine {
namespace {

/// What a thread registers. source: Linux, uapi/linux/rseq.h; the first version had twenty bytes, padded to 32.
struct Area {
  std::uint32_t first_processor, processor;
  std::uint64_t sequence;
  std::uint32_t flags, node, concurrency;
};
constexpr std::uint32_t kFirstSize = 32, kAlignment = 32;
static_assert(offsetof(Area, sequence) == 8 && offsetof(Area, concurrency) == 24);

/// source: Linux, uapi/linux/rseq.h, struct rseq_cs.
struct Sequence {
  std::uint32_t version, flags;
  std::uint64_t start, length, abort;

  bool contains(std::uint64_t pc) const { return pc - start < length; }
  bool is_one() const {
    return version == 0 && flags == 0 && start < kTaskSize && length < kTaskSize - start && abort < kTaskSize &&
           !contains(abort);
  }
};

constexpr int kUnregister = 1;
constexpr std::uint32_t kNotRegistered = ~std::uint32_t{0};

struct Processor {
  std::uint32_t number, node;
};

/// The one that runs this, from the segment whose limit the kernel sets so for each.
/// source: Linux, arch/x86/include/asm/segment.h: vdso_read_cpunode()
Processor processor_of(const Run& run) {
  if (run.config.virtual_time) return {0, 0};
  constexpr unsigned kSelector = 0x7B, kNumberBits = 12;
  unsigned limit = 0;
  asm volatile("lsl %1, %0" : "+r"(limit) : "r"(kSelector) : "cc");
  return {limit & ((1U << kNumberBits) - 1), limit >> kNumberBits};
}

template <typename T>
bool put(Run& run, std::uint64_t at, std::size_t offset, const T& value) {
  return run.write(at + offset, &value, sizeof value) == sizeof value;
}

/// Threads run one at a time, so that one concurrency id serves them all.
bool put_processor(Run& run, std::uint64_t area, std::uint32_t first, std::uint32_t number, std::uint32_t node) {
  constexpr std::uint32_t kConcurrency = 0;
  return put(run, area, offsetof(Area, first_processor), first) && put(run, area, offsetof(Area, processor), number) &&
         put(run, area, offsetof(Area, node), node) && put(run, area, offsetof(Area, concurrency), kConcurrency);
}

// Also one that it was told before: a program may have written there, and waits until the kernel does.
bool tell_processor(Run& run) {
  RegisteredSequences& registered = run.thread->sequences;
  const Processor now = processor_of(run);
  registered.processor = now.number;
  return put_processor(run, registered.area, now.number, now.number, now.node);
}

/// source: Linux, kernel/rseq.c, SYSCALL_DEFINE4(rseq)
long unregister(Run& run, std::uint64_t area, std::uint32_t size, std::uint32_t signature) {
  RegisteredSequences& registered = run.thread->sequences;
  if (registered.area == 0 || area != registered.area || size != registered.size) return -EINVAL;
  if (signature != registered.signature) return -EPERM;
  if (!put_processor(run, area, 0, kNotRegistered, 0)) return -EFAULT;
  registered = {};
  return 0;
}

}  // namespace

long register_sequences(Run& run, std::uint64_t area, std::uint32_t size, int flags, std::uint32_t signature) {
  RegisteredSequences& registered = run.thread->sequences;
  if (flags == kUnregister) return unregister(run, area, size, signature);
  if (flags != 0) return -EINVAL;
  if (registered.area != 0) {
    if (area != registered.area || size != registered.size) return -EINVAL;
    return signature != registered.signature ? -EPERM : -EBUSY;
  }
  if (size < kFirstSize || area % kAlignment != 0) return -EINVAL;
  if (area >= kTaskSize || size > kTaskSize - area) return -EFAULT;
  if (!put(run, area, offsetof(Area, sequence), std::uint64_t{0})) return -EFAULT;
  registered = {.area = area, .size = size, .signature = signature};
  return tell_processor(run) ? 0 : -EFAULT;
}

void forget_sequences(Run& run) {
  const RegisteredSequences registered = run.thread->sequences;
  if (registered.area != 0) unregister(run, registered.area, registered.size, registered.signature);
}

void look_for_processor(Run& run) {
  const RegisteredSequences& registered = run.thread->sequences;
  if (registered.area != 0 && registered.processor != processor_of(run).number) run.thread->interrupted = true;
}

// source: Linux, kernel/rseq.c: rseq_get_rseq_cs(), rseq_ip_fixup()
bool restart_sequence(Run& run) {
  Thread& thread = *run.thread;
  const RegisteredSequences& registered = thread.sequences;
  if (registered.area == 0) return true;
  if (!tell_processor(run)) return false;
  const std::uint64_t place = registered.area + offsetof(Area, sequence);
  const auto at = run.value_at<std::uint64_t>(place);
  if (!at) return false;
  if (*at == 0) return true;
  const auto sequence = run.value_at<Sequence>(*at);
  if (!sequence || !sequence->is_one()) return false;
  const auto signature = run.value_at<std::uint32_t>(sequence->abort - sizeof(std::uint32_t));
  if (!signature || *signature != registered.signature) return false;
  const bool inside = sequence->contains(thread.pc);
  if (inside && run.value_at<std::uint32_t>(registered.area + offsetof(Area, flags)) != 0U) return false;
  if (!put(run, place, 0, std::uint64_t{0})) return false;
  if (inside) thread.pc = sequence->abort;
  return true;
}

}  // namespace zs::engine

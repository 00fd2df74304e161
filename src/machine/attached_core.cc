#include "machine/attached_core.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/core_feed.h"
#include "isa/decode.h"
#include "machine/memory.h"
#include "machine/vcpu/vcpu.h"
#include "uarch/core_model.h"
#include "uarch/replay/modelled_machine.h"

namespace zs::machine {
namespace {

constexpr std::uint16_t kStored = 0x8000;
constexpr std::uint64_t kKernelHalf = std::uint64_t{1} << 63, kDirectionFlag = 1 << 10;
constexpr unsigned kSpaceBit = 48;  // above what addresses of programs have
// chosen: more than a kernel and some programs have; their memory is a few hundred bytes each.
constexpr std::uint32_t kMostPaths = std::uint32_t{1} << 20;
constexpr std::size_t kNewest = std::size_t{1} << 15;

}  // namespace

AttachedCore::AttachedCore(const uarch::CoreModel& model)
    : machine_(std::make_unique<uarch::ModelledMachine>(model, uarch::MachineOptions{})),
      thread_(machine_->attach_thread()),
      newest_(kNewest) {}
AttachedCore::~AttachedCore() = default;

void AttachedCore::set_latency_threshold(std::uint32_t cycles) { thread_->set_latency_threshold(cycles); }
void AttachedCore::remember_branches() { thread_->remember_branches(); }

std::uint64_t AttachedCore::place_of(const Vcpu& cpu, std::uint64_t linear) {
  if ((linear & kKernelHalf) != 0) return linear;
  return linear | spaces_.try_emplace(cpu.cr(3) / kPageBytes, spaces_.size()).first->second << kSpaceBit;
}

void AttachedCore::describe(const Shape& shape, const arch::InsnFacts& facts) {
  arch::PathInstruction instruction{.pc = shape.pc,
                                    .target = shape.taken ? shape.target : 0,
                                    .facts = facts,
                                    .taken = shape.taken,
                                    .length = shape.length,
                                    .bytes = {}};
  std::copy_n(shape.bytes.begin(), shape.length, instruction.bytes);
  std::array<arch::PathAccess, kMostAccesses> accesses{};
  for (std::uint8_t n = 0; n < shape.accesses; ++n) {
    arch::PathAccess& access = accesses[n];
    access.kind = (shape.sizes[n] & kStored) != 0 ? arch::AccessKind::Store
                  : facts.locked                  ? arch::AccessKind::LockedLoad
                                                  : arch::AccessKind::Load;
    access.address.bytes = shape.sizes[n] & ~kStored;
    access.address.base = n;
    if (!facts.rep_string) continue;
    access.form = arch::AccessForm::Repeated;
    access.address.flags = arch::AddressTerm::kRepeated;
    access.address.index = static_cast<std::uint8_t>(kMostAccesses + n);
  }
  thread_->describe(shape.path, {{&instruction, 1}, std::span(accesses).first(shape.accesses)});
}

const AttachedCore::Shape* AttachedCore::shape_of(Shape& seen) {
  const auto is_seen = [&seen](const Shape& shape) {
    return shape.pc == seen.pc && shape.taken == seen.taken && (!seen.taken || shape.target == seen.target) &&
           shape.accesses == seen.accesses && shape.sizes == seen.sizes &&
           std::memcmp(shape.bytes.data(), seen.bytes.data(), shape.length) == 0;
  };
  const Shape*& newest = newest_[seen.pc % kNewest];
  if (newest != nullptr && is_seen(*newest)) return newest;
  const auto [first, last] = shapes_.equal_range(seen.pc);
  for (auto at = first; at != last; ++at) {
    if (is_seen(at->second)) return newest = &at->second;
  }
  const auto insn = isa::decode(seen.pc, seen.bytes);
  if (!insn) return nullptr;
  if (shapes_.size() == kMostPaths) {
    thread_->forget_paths();
    shapes_.clear();
    std::ranges::fill(newest_, nullptr);
  }
  seen.length = insn->length;
  seen.path = static_cast<std::uint32_t>(shapes_.size());
  describe(seen, insn->facts);
  return newest_[seen.pc % kNewest] = &shapes_.emplace(seen.pc, seen)->second;
}

void AttachedCore::retire(Vcpu& cpu, bool code64, arch::Retired& retired, std::span<const MemoryAccess> accesses) {
  Shape seen{.pc = retired.ip, .target = retired.next_ip, .taken = retired.taken};
  const std::size_t here = std::min<std::size_t>(seen.bytes.size(), kPageBytes - retired.ip % kPageBytes);
  const auto bytes = std::as_writable_bytes(std::span(seen.bytes));
  const bool readable = cpu.peek(retired.ip, bytes.first(here));
  if (here < bytes.size()) (void)cpu.peek(retired.ip + here, bytes.subspan(here));  // may be another mapping's end

  // Of a repeated string instruction an element's accesses stand for all, and none where there was no element.
  std::uint64_t elements = 1;
  std::size_t most = kMostAccesses;
  if (retired.rep_string) {
    elements = std::max(retired.load_count, retired.store_count) / std::max(retired.loads, retired.stores);
    most = elements == 0 ? 0 : std::size_t{retired.loads} + retired.stores;
  }
  accesses = accesses.first(std::min(accesses.size(), most));
  std::array<std::uint64_t, 2 * kMostAccesses> slots{};
  for (const MemoryAccess& access : accesses) {
    const std::uint64_t length = access.bytes * elements;
    const std::uint64_t place = place_of(cpu, access.linear);
    slots[seen.accesses] = place;
    slots[kMostAccesses + seen.accesses] = (cpu.rflags() & kDirectionFlag) != 0 ? place - length : place + length;
    seen.sizes[seen.accesses++] = static_cast<std::uint16_t>(access.bytes | (access.write ? kStored : 0));
  }

  const Shape* const shape = readable && code64 ? shape_of(seen) : nullptr;
  if (shape != nullptr) {
    const arch::PathRun run{.path = shape->path, .slots = 0, .next = retired.next_ip};
    thread_->run({&run, 1}, {.slots = slots.data(), .fs = 0, .gs = 0, .listed = {}});
    retired.load = thread_->last_load();
    retired.store = thread_->last_store();
    retired.fetch = thread_->last_fetch();
    retired.mispredicted = thread_->last_mispredicted();
  } else {
    ++untold_;
  }
  arch::CoreSignals now = thread_->signals();
  now[arch::CoreSignal::Cycles] += untold_;
  for (std::size_t n = 0; n < arch::kCoreSignals; ++n)
    added_.counts[n] = now.counts[n] - std::exchange(total_.counts[n], now.counts[n]);
  retired.signals = &added_;
}

}  // namespace zs::machine

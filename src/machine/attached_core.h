// The processor's core as `uarch` models it, beside the interpreter: it is told each instruction of 64-bit code that
// retires, and says where the data came from, what was mispredicted and how many cycles have passed.
// chosen: addresses of data in the lower half are told apart by the page table that was in use (the register CR3), so
// that processes share none; code at the same address is shared. What the kernel maps elsewhere within a process keeps
// its lines. Instructions of other modes take a cycle each and touch nothing.
// Left out: INVLPG and MOV to CR3 flush no TLB, interrupts do not disturb the front end, prefetch instructions fetch
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "arch/core_signals.h"
#include "arch/retired.h"
#include "machine/vcpu/interfaces.h"

namespace zs::arch {
class CoreFeed;
}

namespace zs::uarch {
class ModelledMachine;
struct CoreModel;
}  // namespace zs::uarch

namespace zs::machine {

class AttachedCore {
 public:
  explicit AttachedCore(const uarch::CoreModel& model);
  ~AttachedCore();

  /// The instruction `retired` has just run in `cpu`. Fills in what only a core model knows; its signals are good until
  /// the next call.
  /// code64    it is 64-bit code
  /// accesses  in its order; of a REP string instruction, those of the first elements
  void retire(Vcpu& cpu, bool code64, arch::Retired& retired, std::span<const MemoryAccess> accesses);
  /// Totals, with the cycles of instructions of other modes.
  const arch::CoreSignals& signals() const { return total_; }

  /// As CoreFeed has them.
  void set_latency_threshold(std::uint32_t cycles);
  void remember_branches();

 private:
  static constexpr std::size_t kMostAccesses = 8;  // that the interpreter notes of an instruction

  /// What executions of an instruction have in common that are the same path.
  struct Shape {
    std::uint64_t pc = 0, target = 0;
    bool taken = false;
    std::uint8_t length = 0, accesses = 0;
    std::array<std::uint16_t, kMostAccesses> sizes{};  // of accesses, in bytes; kStored: it is a store
    std::array<std::uint8_t, 15> bytes{};
    std::uint32_t path = 0;
  };

  /// null: the bytes are no instruction of 64-bit code
  const Shape* shape_of(Shape& seen);
  void describe(const Shape& shape, const arch::InsnFacts& facts);
  std::uint64_t place_of(const Vcpu& cpu, std::uint64_t linear);

  std::unique_ptr<uarch::ModelledMachine> machine_;
  std::unique_ptr<arch::CoreFeed> thread_;
  std::unordered_multimap<std::uint64_t, Shape> shapes_;     // by address
  std::vector<const Shape*> newest_;                         // of those with the same low bits of the address; or null
  std::unordered_map<std::uint64_t, std::uint64_t> spaces_;  // numbers of page tables, by CR3
  arch::CoreSignals total_, added_;                          // added_: by the newest instruction
  std::uint64_t untold_ = 0;                                 // instructions that the core was not told of
};

}  // namespace zs::machine

// The facts that reach a PMU: what one instruction is, and what one retirement of it did. `engine` and `machine` fill
// them in, `pmu` counts them; nothing here decodes.
#pragma once

#include <array>
#include <cstdint>

#include "arch/core_signals.h"
#include "arch/records/data_source.h"

namespace zs::arch {

/// Kinds of control transfer that BR_INST_RETIRED and LBR_SELECT tell apart.
enum class BranchKind : std::uint8_t {
  None,
  Conditional,   // Jcc, JrCXZ, LOOPcc
  RelativeJump,  // JMP rel
  IndirectJump,  // JMP r/m
  RelativeCall,  // CALL rel
  IndirectCall,  // CALL r/m
  Return,        // RET, RET imm16
  Far,           // SYSCALL, INT n, IRET, far JMP/CALL/RET, and interrupts
};

/// What the valid and speculative bits of an AMD branch record say together, in the numbers of perf's branch entries.
enum class BranchSpeculation : std::uint8_t {
  Unknown = 0,
  WrongPath = 1,           // speculative, and not valid
  NonSpeculative = 2,      // valid alone
  SpeculativeCorrect = 3,  // both
};

/// Computational floating-point instructions as FP_ARITH_INST_RETIRED tells them apart.
enum class FpArith : std::uint8_t {
  None,
  ScalarDouble,
  ScalarSingle,
  Packed128Double,
  Packed128Single,
  Packed256Double,
  Packed256Single,
  Packed512Double,
  Packed512Single,
};

/// What is known of an instruction from its bytes alone.
struct InsnFacts {
  BranchKind branch = BranchKind::None;
  FpArith fp = FpArith::None;
  std::uint8_t fp_weight = 0;  // 1; 2 for fused multiply-add, which the event counts twice
  std::uint8_t loads = 0;      // memory operands read, for a REP string instruction per element
  std::uint8_t stores = 0;     // memory operands written, likewise
  bool nop : 1 = false;
  bool prefetch : 1 = false;    // PREFETCHh, PREFETCHW: no load, but some processors' events count it as one
  std::uint8_t unused : 6 = 0;  // the facts are eight bytes, which are compared as a whole
  bool locked = false;          // LOCK prefix, or XCHG with memory
  bool rep_string = false;      // REP/REPE/REPNE with MOVS, STOS, LODS, SCAS, CMPS: retires once
};

/// Whether one may move an event or a signal of loads.
constexpr bool is_load_or_prefetch(const InsnFacts& facts) { return facts.loads != 0 || facts.prefetch; }

/// What a processor's events of retired loads and stores count: MEM_INST_RETIRED, MEM_UOPS_RETIRED, MEM_LOAD_RETIRED
/// and their kin.
/// The rows of the event tables and the core models both follow from this; a test holds them to it.
/// source: the vendor's event lists. "Retired load instructions" (Nehalem, Westmere; Skylake and later), "retired load
///         uops" (Ivy Bridge to Broadwell, Goldmont). Software prefetches: MEM_UOPS_RETIRED.ALL_LOADS of Broadwell and
///         MEM_INST_RETIRED.ALL_LOADS of Skylake and later name them, and their L1_HIT "all SW prefetches and lock
///         instructions regardless of the data source" (Skylake and later; Broadwell: "SW prefetches independent of the
///         actual data source"). V. Weaver, "Retired Load Instructions", measured Nehalem (instructions; cmps once) and
///         Sandy Bridge (uops), and in "deterministic" of 40,600,000 loads, 800,000 of them prefetches, 40,600,065 and
///         40,600,124 on Nehalem and Westmere.
/// chosen: a uop is an access, and a REP string instruction has one for each element. From the totals in
///         "deterministic" it follows that REP MOVS and STOS upwards take pieces of 16 (Ivy Bridge) or 32 bytes
///         (Haswell, Broadwell) and some 50 to 200 accesses more, not how many of which; and that instructions which
///         save or load the x87 state have many. One of no elements counts as an instruction. Where the lists say
///         nothing of prefetches they are none.
struct RetiredAccesses {
  bool instructions = false;  // each instruction once, a REP string instruction too; otherwise each access
  bool prefetches = false;    // software prefetches are loads, and by source L1 hits
  bool locked_as_l1 = false;  // locked loads are, by source, L1 hits
};

/// One retired instruction.
struct Retired : InsnFacts {
  bool taken = false;            // a branch that was taken (every unconditional one)
  std::uint8_t cpl = 3;          // privilege level it retired at
  std::uint64_t load_count = 0;  // architectural loads done; REP: elements x loads
  std::uint64_t store_count = 0;
  std::uint32_t split_loads = 0;  // those that crossed a 64-byte line
  std::uint32_t split_stores = 0;
  std::uint64_t ip = 0;             // linear address of the instruction
  std::uint64_t next_ip = 0;        // linear address of the instruction that runs next
  std::uint64_t data_address = 0;   // linear address of the (first) memory operand; 0 if none
  std::uint64_t store_address = 0;  // of the first one written; 0 if none, or the same as data_address

  // What a taken branch also needs where privilege levels change and branches are predicted.
  std::uint8_t next_cpl = kSameCpl;  // privilege level of the instruction that runs next
  bool mispredicted = false;
  bool transfer_entered = false;  // its transfer went to Pmu::enter_branch() already: LBR and BTS leave it alone

  // How wide the operands at these addresses are, in bytes; 0: not known, or not the width of one access.
  std::uint8_t data_bytes = 0, store_bytes = 0;
  std::uint64_t physical = 0;  // address of data_address; 0: there is none, or nobody knows

  bool fence = false;  // CPUID, SFENCE, MFENCE or CLFLUSH: some processors count a store there (arch/quirks.h)

  // What only a core model knows. Absent: there is none, and records say so.
  AccessOutcome load, store;  // the last of each
  AccessOutcome fetch;        // of its line of code, of two the slower; absent: the front end waited for none
  const CoreSignals* signals = nullptr;  // what this instruction added
  std::uint64_t branch_cycle = 0;        // as TakenBranch::cycle

  static constexpr std::uint8_t kSameCpl = 0xFF;
};

/// Why control moved.
enum class TransferCause : std::uint8_t {
  Instruction,  // a taken branch, INT n, IRET, SYSCALL, ...: the instruction also retires
  Exception,    // from = the faulting instruction, or for a trap the one after it: what the frame returns to
  Interrupt,    // from = the instruction that would have run next
};

/// One taken control transfer, as LBR and BTS see it.
struct TakenBranch {
  std::uint64_t from = 0;  // linear
  std::uint64_t to = 0;    // linear
  BranchKind kind = BranchKind::None;
  bool mispredicted = false;
  std::uint8_t cpl_from = 3;
  std::uint8_t cpl_to = 3;
  TransferCause cause = TransferCause::Instruction;
  std::uint64_t cycle = 0;  // of its core, in which it was left behind; 0: not known here, the PMU's clock may
};

/// How often an instruction retired (`to` is 0), or how often the branch at `from` was taken to `to`.
struct PathCount {
  std::uint64_t from = 0, to = 0, times = 0;
  bool operator==(const PathCount&) const = default;
};

/// General registers in the order of a legacy PEBS record (SDM vol. 3B, "PEBS Record Format"), after retirement.
struct RegisterFile {
  std::uint64_t flags = 0, ip = 0;  // ip: the next instruction
  std::uint64_t ax = 0, bx = 0, cx = 0, dx = 0, si = 0, di = 0, bp = 0, sp = 0;
  std::uint64_t r8 = 0, r9 = 0, r10 = 0, r11 = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
};
static_assert(sizeof(RegisterFile) == 0x90);

/// By the number that instructions have for a general register. source: SDM vol. 2, table 2-2
inline constexpr std::array<std::uint64_t RegisterFile::*, 16> kGeneralRegisters = {
    &RegisterFile::ax,  &RegisterFile::cx,  &RegisterFile::dx,  &RegisterFile::bx,
    &RegisterFile::sp,  &RegisterFile::bp,  &RegisterFile::si,  &RegisterFile::di,
    &RegisterFile::r8,  &RegisterFile::r9,  &RegisterFile::r10, &RegisterFile::r11,
    &RegisterFile::r12, &RegisterFile::r13, &RegisterFile::r14, &RegisterFile::r15};
constexpr RegisterFile register_file(const std::uint64_t* general, std::uint64_t flags, std::uint64_t ip) {
  RegisterFile file{.flags = flags, .ip = ip};
  for (const auto member : kGeneralRegisters) file.*member = *general++;
  return file;
}

/// How an event counts: resolved once from EVENT and UMASK, then asked per instruction or per translated path.
struct EventMeaning {
  std::uint32_t (*count)(const Retired&) = nullptr;  // occurrences in one retirement, saturating at 2^32-1
  bool memory = false;     // depends on load_count/store_count, which a REP string instruction sets at run time
  bool addresses = false;  // depends on split_loads/split_stores, so on data addresses
  /// Of a modelled event: the same of a core model's signals, whose sum it is. Null: `count` needs no core model.
  std::uint64_t (*of_signals)(const CoreSignals&) = nullptr;
};

/// Whether the signal is one of those that are counted.
constexpr bool depends_on(const EventMeaning& meaning, CoreSignal signal) {
  CoreSignals one;
  one[signal] = 1;
  return meaning.of_signals != nullptr && meaning.of_signals(one) != 0;
}

}  // namespace zs::arch

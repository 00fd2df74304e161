// What translated code and the engine's C++ share: one page at a fixed low address, so that translated code reaches it
// rip-relatively. Threads of a program run one at a time, so there is one Context; a thread switch copies the thread's
// part in and out (thread.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/isa_names.h"
#include "isa/registers.h"

namespace zs::engine {

/// Why translated code came back to C++.
enum class ExitReason : std::uint32_t {
  Unlinked,      // an exit that is not linked; the last append says which
  StepDone,      // the same of a step or of Variant::Near, which append no record; exit_id says which
  IndirectMiss,  // target in rcx, rcx and rax in their slots
  Guard,         // the trace reached its guard page (or was tripped by a signal); guard_pc is the faulting append
  Fault,         // a guest instruction faulted; the thread's Fault says where
  Stopped,       // the stop that was chosen was reached (near_stop.h)
};

/// What a stop (near_stop.h) has to do with the instruction that overflows.
enum class StopKind : std::uint8_t {
  Before,    // it stands before that one, which has to run alone
  Behind,    // right behind it; the registers there are all that is needed
  Foreseen,  // before it; it is a direct jump, what it will do follows from the flags, and it cannot fault
};

struct Context {
  std::uint64_t gpr[16];        // 000h, in encoding order; gpr[11] always holds the program's r11
  std::uint64_t flags;          // 080h
  std::uint64_t slot_rcx;       // 088h  program's rcx during an indirect branch
  std::uint64_t slot_rax;       // 090h
  std::uint64_t slot_map;       // 098h  program's value of the register that stands in for r11
  std::uint64_t slot_far;       // 0A0h  program's value of the register that holds a far address
  std::uint64_t trace_pointer;  // 0A8h
  std::uint64_t host_rsp;       // 0B0h  engine stack of the running thread
  std::uint64_t fs_base;        // 0B8h  the program's, which is the processor's GS base (segment_bases.h)
  std::uint64_t
      gs_base;  // 0C0h  the program's, which only lies in the processor while an instruction with GS runs alone
  std::uint64_t enter_at;                  // 0C8h  where to enter the cache
  std::uint32_t exit_id;                   // 0D0h
  ExitReason reason;                       // 0D4h
  std::uint64_t guard_pc;                  // 0D8h
  std::uint32_t host_mxcsr;                // 0E0h
  std::uint16_t fs_selector, gs_selector;  // 0E4h  the program's; the processor's are 0
  std::uint64_t slot_scratch;              // 0E8h  program's value of a second scratch register
  std::uint64_t elements[4];               // 0F0h  of REP string instructions since the last drain, by RepClass
  std::uint64_t near_table;                // 110h  of the block in which there is to be a stop (NearTable)
  std::uint64_t stop_at;                   // 118h  where the code behind it begins
  std::uint32_t stop_block;                // 120h
  std::uint16_t stop_index;                // 124h  instructions of the block before it
  StopKind stop_kind;                      // 126h
  /// 1: the rest of a block with a stop runs, with the trace pointer kPastStops farther; what follows may not run in
  /// Variant::Near.
  std::uint8_t past_stop;      // 127h
  std::uint64_t probe_note;    // 128h  where the next probe or line is noted (ProbeNote, LineWatch)
  std::uint64_t restart;       // 130h  trace pointer at which Variant::Full goes on behind that rest; 0: C++ sees to it
  std::uint64_t restarted;     // 138h  it has gone on there since C++ was left
  std::uint64_t period_start;  // 140h  `restart` behind a stop that is passed
  std::uint32_t passes_left;   // 148h  stops that may still be passed without C++
  std::uint32_t passed;        // 14Ch  and how many have been: their states lie at kPassedOffset
  const std::uint64_t* waits;  // 150h  not 0 there: another thread waits for its turn, and no stop is passed
  std::uint64_t tripped;       // 158h  a signal waits: to C++ at the next brake
  std::uint64_t watch_mask;    // 160h  of LineWatch: bits of an address that say whether its line is watched
  std::uint64_t watch_rcx;     // 168h  the program's, during its test
  std::uint64_t watch_rax;     // 170h

  /// No stop is passed from here on, and none was.
  void forget_passed_stops() { past_stop = 0, passes_left = 0, restart = 0; }
};

/// More than a block has instructions.
inline constexpr std::uint64_t kPastStops = 256;

/// A probe in a trace of which only the pointer counts. Other notes in the same list are numbers of lines (LineWatch),
/// which are below 2^58.
struct ProbeNote {
  static constexpr std::uint32_t kIsProbe = 1U << 31;

  std::uint32_t pointer;  // of the stolen register, before what the exit adds
  std::uint32_t exit;     // of the block that began with the probe, with kIsProbe
};

/// The state at a stop that translated code has passed by itself, in the registers of the translation.
struct PassedStop {
  std::uint64_t gpr[16];  // [kTracePointer]: the program's r11, or what is left of it (slot_map)
  std::uint64_t flags, slot_map, slot_far;
  std::uint64_t host_ticks;  // time-stamp counter
  std::uint32_t block;
  std::uint16_t index;
  StopKind kind;
  std::uint8_t zero;
};

/// REP string instructions by what one element does to memory.
enum RepClass : std::uint8_t { kRepLoads1, kRepLoads2, kRepStores1, kRepMoves };
static_assert(offsetof(Context, flags) == 0x80 && offsetof(Context, guard_pc) == 0xD8);

/// Offset of the xsave area from the Context; 64-byte aligned, size by CPUID leaf 0DH.
inline constexpr std::size_t kXsaveOffset = 0x200;
/// And of the passed stops, kMostPasses at most.
inline constexpr std::size_t kPassedOffset = 0x8000;
inline constexpr std::uint32_t kMostPasses = 128;
static_assert(sizeof(Context) <= kXsaveOffset && kPassedOffset + kMostPasses * sizeof(PassedStop) <= 0x10000);

}  // namespace zs::engine

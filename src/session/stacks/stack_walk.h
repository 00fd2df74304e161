// The calls that a thread is in, found at the sample, where its registers and all of its stack are at hand: by the
// unwind tables of the files that its code is of, as exceptions find their handlers; where there are none, by following
// the code, from there to a return or from the call that led there; by frame pointers where that leads nowhere. It
// needs no frame pointers, no debug information and no copy of the stack.
//
// What is found once for an address is kept, so most frames cost a look-up and two reads of memory.
// Not found: callers of code from a JIT that keeps no frame pointers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arch/retired.h"
#include "engine/observer.h"
#include "isa/decode.h"
#include "session/memory/program_memory.h"
#include "session/sample.h"
#include "session/stacks/code_rule.h"
#include "session/stacks/frame_rule.h"
#include "session/stacks/mapped_code.h"
#include "session/stacks/table_bytes.h"
#include "session/stacks/unwind_table.h"
#include "uarch/flat_map.h"

namespace zs::session {

/// Of one process.
class StackWalk {
 public:
  explicit StackWalk(ProgramMemory& memory);

  void mapped(const engine::Mapping& mapping);

  /// ip         of the sample: the instruction itself, or the one behind it, registers.ip
  /// registers  behind the instruction
  /// longest    entries at most, `ip` included
  /// returns    innermost first. Callers are given by the last byte of their call instruction, so that they are in the
  ///            function and on the line of the call; what a signal interrupted, by its very address
  std::vector<std::uint64_t> walk(std::uint64_t ip, const arch::RegisterFile& registers, std::size_t longest,
                                  ChainEnd& end);

 private:
  class Stack;

  /// An address, and whether it is one that a call returns to.
  struct Place {
    std::uint64_t pc = 0;
    bool returned_to = false;

    std::uint64_t in_function() const { return pc - (returned_to ? 1 : 0); }
    std::uint64_t key() const { return pc << 1 | (returned_to ? 1 : 0); }
  };

  const FrameRule* rule_at(const Place& place, const arch::DwarfRegisters& registers, Stack& stack);
  std::optional<FrameRule> find_rule(const Place& place, const MappedArea& area, const arch::DwarfRegisters& registers,
                                     Stack& stack);
  std::optional<FrameRule> rule_without_table(std::uint64_t pc, const arch::DwarfRegisters& registers, Stack& stack);
  UnwindTable& table_of(const MappedArea& area);
  isa::Flow flow_at(std::uint64_t pc);
  bool returns_from_signal(std::uint64_t pc);
  std::optional<isa::Insn> call_before(std::uint64_t pc);
  std::optional<isa::Insn> call_in_file(std::uint64_t back);
  bool begin(std::uint64_t ip, arch::DwarfRegisters& registers, Stack& stack, Place& place);

  ProgramMemory& memory_;
  const FetchCode fetch_;
  TableBytes table_bytes_;
  Expressions expressions_;
  MappedCode code_;
  std::map<std::uint64_t, std::unique_ptr<UnwindTable>> tables_;  // by start of the area
  std::map<FrameRule, std::uint32_t> rule_numbers_;               // there are few that differ
  std::vector<const FrameRule*> rules_;
  uarch::FlatMap<std::uint32_t> known_;  // numbers of rules, by Place::key
  uarch::FlatMap<isa::Flow> flows_;      // by address
  FrameRule passing_;                    // of code that may change, which is not kept
};

}  // namespace zs::session

#include "machine/state_text.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace zs::machine {
namespace {

constexpr std::string_view kNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr std::string_view kSegmentNames[] = {"es", "cs", "ss", "ds", "fs", "gs", "ldtr", "tr"};
constexpr std::pair<unsigned, std::string_view> kFlags[] = {{0, "CF"},  {2, "PF"},  {4, "AF"},  {6, "ZF"},
                                                            {7, "SF"},  {8, "TF"},  {9, "IF"},  {10, "DF"},
                                                            {11, "OF"}, {14, "NT"}, {16, "RF"}, {17, "VM"}};

}  // namespace

std::string state_text(const CpuState& state) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (unsigned i = 0; i < 16; ++i) {
    fmt::format_to(out, "{:<4}{:016x}{}", kNames[i], state.gpr[i], i % 4 == 3 ? "\n" : "  ");
  }
  fmt::format_to(out, "rip {:016x}  flags {:x}", state.rip, state.rflags);
  for (const auto& [bit, name] : kFlags) {
    if ((state.rflags >> bit & 1) != 0) fmt::format_to(out, " {}", name);
  }
  text += '\n';
  for (unsigned i = 0; i < kSegments; ++i) {
    const Segment& segment = state.segments[i];
    fmt::format_to(out, "{:<5}{:04x} base {:x} limit {:x} attributes {:x}{}", kSegmentNames[i], segment.selector,
                   segment.base, segment.limit, segment.attributes, i % 2 == 1 ? "\n" : "  ");
  }
  fmt::format_to(out, "cr0 {:x}  cr2 {:x}  cr3 {:x}  cr4 {:x}  efer {:x}\n", state.cr0, state.cr2, state.cr3, state.cr4,
                 state.efer);
  fmt::format_to(out, "gdt {:x}/{:x}  idt {:x}/{:x}  dr6 {:x}  dr7 {:x}\n", state.gdtr.base, state.gdtr.limit,
                 state.idtr.base, state.idtr.limit, state.dr6, state.dr7);
  return text;
}

}  // namespace zs::machine

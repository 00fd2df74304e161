#include "engine/kernel/emulation.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>

#include "arch/linear.h"
#include "arch/this_processor.h"
#include "base/check.h"
#include "engine/kernel/virtual_time/extended_state.h"
#include "engine/memory/store_key.h"
#include "engine/segment_bases.h"
#include "engine/translate/stubs.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kInvalidOpcode = 6, kNotPresent = 11, kStackFault = 12, kGeneralProtection = 13;
/// All behind 0FH, but for the two of MOV.
constexpr std::uint8_t kMovFrom = 0x8C, kMovTo = 0x8E, kPushFs = 0xA0, kPopFs = 0xA1, kPushGs = 0xA8, kPopGs = 0xA9,
                       kLfs = 0xB4, kLgs = 0xB5;

/// What IRETQ pops; RETFQ pops the first two.
struct FarFrame {
  std::uint64_t rip, cs, flags, rsp, ss;
};
/// The selectors of 64-bit programs. source: Linux, arch/x86/include/asm/segment.h: __USER_CS, __USER_DS
constexpr std::uint64_t kUserCode = 0x33, kUserData = 0x2B, kSelector = 0xFFFF;
constexpr std::uint8_t kIret = 0xCF;
constexpr std::uint64_t kNestedTask = 0x4000;
/// What IRETQ sets for programs: CF PF AF ZF SF DF OF NT AC ID. source: SDM vol. 2A, IRET: IOPL 0, CPL 3
constexpr std::uint64_t kSetByIret = 0x244CD5;

/// What an instruction of Flow::Refused is, or a far return that does not stay in the program's segments.
const char* refused_kind(const Insn& insn) {
  static constexpr struct {
    std::uint8_t opcode;
    const char* is;
  } kKinds[] = {{0xCD, "INT 80h with a rarer system call of 32-bit programs"},
                {0x34, "SYSENTER, a system call of 32-bit programs"},
                {kIret, "IRET to another segment, or of 16 or 32 bits"},
                {0xCA, "RETF to another segment, or of 16 or 32 bits"},
                {0xCB, "RETF to another segment, or of 16 or 32 bits"}};
  const auto* const found =
      std::ranges::find(kKinds, insn.bytes[insn.opcode_at], [](const auto& kind) { return kind.opcode; });
  return found != std::end(kKinds) ? found->is : "a far call or jump, or a branch of 16 bits";
}

/// An address of the stack segment, whose faults are others.
bool is_on_stack(const MemoryOperand& operand) {
  return (operand.base == kRsp || operand.base == kRbp) && !operand.fs && !operand.gs;
}

}  // namespace

Emulation::Form::Form(const Insn& insn) : opcode(insn.bytes[insn.opcode_at]) {
  const std::uint8_t modrm = insn.modrm_at != 0 ? insn.bytes[insn.modrm_at] : 0;
  extension = modrm >> 3 & 7u;
  unsigned number = modrm & 7u, other = extension;
  for (unsigned at = 0; at < insn.opcode_at; ++at) {
    const std::uint8_t prefix = insn.bytes[at];
    repeat |= prefix == 0xF3;
    word |= prefix == 0x66;
    wide |= (prefix & 0xF8u) == 0x48;
    if ((prefix & 0xF1u) == 0x41) number |= 8u;
    if ((prefix & 0xF4u) == 0x44) other |= 8u;
  }
  word &= !wide;
  reg = static_cast<Gpr>(number);
  second = static_cast<Gpr>(other);
}

bool Emulation::Form::names_selector() const {
  return opcode == kMovFrom || opcode == kMovTo || opcode == kPushFs || opcode == kPushGs || loads();
}
bool Emulation::Form::names_gs() const {
  constexpr unsigned kGsRegister = 5;
  const bool by_extension = opcode == kMovFrom || opcode == kMovTo;
  return by_extension ? extension == kGsRegister : opcode == kPushGs || opcode == kPopGs || opcode == kLgs;
}
bool Emulation::Form::loads() const {
  return opcode == kMovTo || opcode == kPopFs || opcode == kPopGs || is_far_pointer();
}
bool Emulation::Form::is_far_pointer() const { return opcode == kLfs || opcode == kLgs; }

void Emulation::Form::set(std::uint64_t& gpr, std::uint64_t value) const {
  if (word)
    gpr = (gpr & ~std::uint64_t{UINT16_MAX}) | (value & UINT16_MAX);
  else
    gpr = wide ? value : value & UINT32_MAX;
}

// RDFSBASE, RDGSBASE, WRFSBASE, WRGSBASE.
bool Emulation::emulate_segment_base(const Form& form, std::uint64_t pc) {
  Run& run = parts_.run;
  std::uint64_t& reg = run.gpr(form.reg);
  if (!base_instructions_execute()) return raise_fault(pc, SIGILL, ILL_ILLOPN, pc, kInvalidOpcode);
  const bool writes = (form.extension & 2u) != 0, gs = (form.extension & 1u) != 0;
  const std::uint64_t value = form.wide ? reg : reg & UINT32_MAX;
  if (!writes) {
    reg = gs ? run.context.gs_base : run.context.fs_base;
    if (!form.wide) reg &= UINT32_MAX;
    return true;
  }
  if (!arch::is_canonical(value)) return raise_fault(pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  if (gs)
    run.context.gs_base = value;
  else
    run.set_fs_base(value);
  return true;
}

// RDPKRU, WRPKRU.
bool Emulation::emulate_rights(bool writes, std::uint64_t pc) {
  Run& run = parts_.run;
  const StoreKey& key = StoreKey::instance();
  auto* const area = reinterpret_cast<std::byte*>(&run.context) + kXsaveOffset;
  if (!key.can_be_told()) return raise_fault(pc, SIGILL, ILL_ILLOPN, pc, kInvalidOpcode);
  const std::uint64_t zero = run.gpr(kRcx) | (writes ? run.gpr(kRdx) : 0);
  if ((zero & UINT32_MAX) != 0) return raise_fault(pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  if (writes) {
    key.set_all_in(area, static_cast<std::uint32_t>(run.gpr(kRax)));
  } else {
    run.gpr(kRax) = key.shown_in(area);
    run.gpr(kRdx) = 0;
  }
  return true;
}

// XGETBV, XSAVE, XRSTOR of a processor of a fixed level.
bool Emulation::emulate_state(const Insn& insn, const Form& form) {
  Run& run = parts_.run;
  const arch::CpuLevel level = run.config.cpu_level;
  const std::uint64_t all = shown_components(level);
  if (form.opcode == 0x01) {  // XGETBV of XCR0; nothing else has a number
    if ((run.gpr(kRcx) & UINT32_MAX) != 0) return raise_fault(insn.pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
    run.gpr(kRax) = all;
    run.gpr(kRdx) = 0;
    return true;
  }
  const MemoryOperand& operand = insn.memory[0];
  const std::uint64_t address = parts_.accountant.steps.effective_address(operand, insn.next());
  if (address % 64 != 0) return raise_fault(insn.pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  const std::uint64_t wanted = run.gpr(kRax) & all;
  const std::span<std::byte> area(reinterpret_cast<std::byte*>(&run.context) + kXsaveOffset, xsave_bytes());
  std::vector<std::byte> image(shown_state_bytes(level));
  const std::size_t got = run.read(address, image.data(), image.size());
  const bool stores = form.extension == 4;
  if (got != image.size())
    return raise_operand_fault(insn.pc, address + got, stores ? Reach::Writes : Reach::Reads, is_on_stack(operand));
  if (!stores)
    return load_state(image, wanted, level, area) || raise_fault(insn.pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  store_state(area, wanted, level, image);
  if (const std::size_t put = run.write(address, image.data(), image.size()); put != image.size())
    return raise_operand_fault(insn.pc, address + put, Reach::Writes, is_on_stack(operand));
  return true;
}

// That of the level, or the host's without what names the core it ran on.
void Emulation::emulate_cpuid() {
  Run& run = parts_.run;
  const auto leaf = static_cast<std::uint32_t>(run.gpr(kRax)), subleaf = static_cast<std::uint32_t>(run.gpr(kRcx));
  arch::CpuidLeaf answer;
  if (const arch::CpuLevel level = run.config.cpu_level; level != arch::CpuLevel::Host) {
    answer = arch::cpuid_of(level, run.config.cpus, leaf, subleaf);
  } else {
    answer = arch::cpuid_here(leaf, subleaf);
    if (leaf == 1) answer.ebx &= 0x00FFFFFF;
    if (leaf == 0xB || leaf == 0x1F) answer.edx = 0;
  }
  run.gpr(kRax) = answer.eax;
  run.gpr(kRbx) = answer.ebx;
  run.gpr(kRcx) = answer.ecx;
  run.gpr(kRdx) = answer.edx;
}

void Emulation::go_back_to(std::uint64_t pc) {
  Thread& thread = *parts_.run.thread;
  thread.step.active = thread.step_traps = false;
  thread.pc = pc;
}

bool Emulation::raise_fault(std::uint64_t pc, int signal, int code, std::uint64_t address, std::uint64_t trap,
                            std::uint64_t error_code) {
  go_back_to(pc);
  parts_.signals.raise_fault(signal, code, address, trap, error_code);
  return false;
}

// The instruction at `pc` reaches for `address`, and cannot.
bool Emulation::raise_operand_fault(std::uint64_t pc, std::uint64_t address, Reach reach, bool on_stack) {
  if (!arch::is_canonical(address) && on_stack) return raise_fault(pc, SIGBUS, SI_KERNEL, 0, kStackFault);
  if (!arch::is_canonical(address)) return raise_fault(pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  go_back_to(pc);
  if (parts_.run.map.mappings().prot_at(address) != PROT_NONE && parts_.awaited.contains(address))
    parts_.awaited.touch_without_lock({address, address + 1}, reach == Reach::Writes);
  else
    parts_.signals.raise_page_fault(address, reach);
  return false;
}

// MOV and PUSH from FS or GS. Of a MOV only 16 bits go to memory.
bool Emulation::store_selector(const Insn& insn, const Form& form) {
  Run& run = parts_.run;
  const std::uint64_t selector = form.names_gs() ? run.context.gs_selector : run.context.fs_selector;
  if (insn.memory_count == 0) {
    form.set(run.gpr(form.reg), selector);
    return true;
  }
  const MemoryOperand& operand = insn.memory[0];
  const std::uint64_t address = parts_.accountant.steps.effective_address(operand, insn.next());
  if (const std::size_t put = run.write(address, &selector, operand.bytes); put != operand.bytes)
    return raise_operand_fault(insn.pc, address + put, Reach::Writes, is_on_stack(operand));
  if (form.opcode != kMovFrom) run.gpr(kRsp) = address;
  return true;
}

// MOV and POP to FS or GS, LFS, LGS.
bool Emulation::load_selector(const Insn& insn, const Form& form) {
  Run& run = parts_.run;
  std::array<std::uint8_t, 10> bytes{};
  std::uint16_t selector = 0;
  std::size_t size = 0;
  if (insn.memory_count == 0) {
    selector = static_cast<std::uint16_t>(run.gpr(form.reg));
  } else {
    const MemoryOperand& operand = insn.memory[0];
    const std::size_t of_pointer = form.word ? 4 : form.wide && has_far_pointers_of_64_bits() ? 10 : 6;
    size = form.is_far_pointer() ? of_pointer : operand.bytes;
    const std::uint64_t address = parts_.accountant.steps.effective_address(operand, insn.next());
    if (const std::size_t got = run.read(address, bytes.data(), size); got != size)
      return raise_operand_fault(insn.pc, address + got, Reach::Reads, is_on_stack(operand));
    std::memcpy(&selector, bytes.data() + (form.is_far_pointer() ? size - sizeof selector : 0), sizeof selector);
  }
  constexpr std::uint64_t kOfErrorCode = 0xFFFC;
  if (const unsigned trap = fault_of_selector(selector); trap != 0)
    return raise_fault(insn.pc, trap == kNotPresent ? SIGBUS : SIGSEGV, SI_KERNEL, 0, trap, selector & kOfErrorCode);
  if (form.names_gs()) {
    run.context.gs_base = base_behind_selector(selector, run.context.gs_base);
    run.context.gs_selector = selector;
  } else {
    run.set_fs_base(base_behind_selector(selector, run.context.fs_base));
    run.context.fs_selector = selector;
  }
  if (form.is_far_pointer()) {
    std::uint64_t offset = 0;
    std::memcpy(&offset, bytes.data(), size - sizeof selector);
    form.set(run.gpr(form.second), offset);
  } else if (form.opcode != kMovTo) {
    run.gpr(kRsp) += size;
  }
  return true;
}

// IRETQ, RETFQ, RETFQ imm16. returns false if it has raised a fault
bool Emulation::emulate_far_return(const Insn& insn) {
  Run& run = parts_.run;
  Thread& thread = *run.thread;
  const bool iret = insn.bytes[insn.opcode_at] == kIret;
  std::uint64_t& rsp = run.gpr(kRsp);
  if (iret && (run.context.flags & kNestedTask) != 0)
    return raise_fault(insn.pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  FarFrame frame{};
  const std::size_t size = iret ? sizeof frame : sizeof frame.rip + sizeof frame.cs;
  if (const std::size_t got = run.read(rsp, &frame, size); got != size)
    return raise_operand_fault(insn.pc, rsp + got, Reach::Reads, true);
  if ((frame.cs & kSelector) != kUserCode || (iret && (frame.ss & kSelector) != kUserData)) refuse(insn.pc);
  if (!arch::is_canonical(frame.rip)) return raise_fault(insn.pc, SIGSEGV, SI_KERNEL, 0, kGeneralProtection);
  if (iret) {
    run.context.flags = (run.context.flags & ~kSetByIret) | (frame.flags & kSetByIret);
    thread.traps = (frame.flags & kTrapFlag) != 0;
    rsp = frame.rsp;
  } else {
    rsp += size + insn.return_pop;
  }
  thread.pc = frame.rip;
  return true;
}

void Emulation::emulate(const Exit& exit) {
  Run& run = parts_.run;
  const std::optional<Insn> insn = decode(exit.pc, run.code->fetch(exit.pc), run.config.processor());
  CHECK(insn && (insn->flow == Flow::Emulated || insn->flow == Flow::FarReturn), exit.pc);
  if (insn->flow == Flow::FarReturn) {
    if (emulate_far_return(*insn)) parts_.accountant.steps.retire(true);
    return;
  }
  const Form form(*insn);
  const auto set_edx_eax = [&](std::uint64_t value) {
    run.gpr(kRax) = value & UINT32_MAX;
    run.gpr(kRdx) = value >> 32;
  };
  if (form.names_selector()) {
    if (!(form.loads() ? load_selector(*insn, form) : store_selector(*insn, form))) return;
  } else if ((form.opcode == 0xAE && insn->memory_count != 0) || (form.opcode == 0x01 && form.extension == 2)) {
    if (!emulate_state(*insn, form)) return;
  } else if (form.opcode == 0xAE) {
    if (!emulate_segment_base(form, exit.pc)) return;
  } else if (is_rdpkru(*insn) || is_wrpkru(*insn)) {
    if (!emulate_rights(is_wrpkru(*insn), exit.pc)) return;
  } else if (form.opcode == 0x31) {
    set_edx_eax(parts_.clock.tsc());
  } else if (form.opcode == 0x01) {  // RDTSCP
    set_edx_eax(parts_.clock.tsc());
    run.gpr(kRcx) = 0;
  } else if (form.opcode == 0xA2) {
    emulate_cpuid();
  } else {  // 0F C7 /6 RDRAND, /7 RDSEED, F3 0F C7 /7 RDPID
    const bool rdpid = form.repeat && form.extension == 7;
    std::uint64_t value = rdpid ? 0 : parts_.clock.random();
    if (!form.wide) value &= UINT32_MAX;
    run.gpr(form.reg) = value;
    if (!rdpid) run.context.flags = (run.context.flags & ~std::uint64_t{0x8D5}) | 1;  // CF = 1, other status flags 0
  }
  run.thread->pc = exit.target;
  parts_.accountant.steps.retire(false);
}

void Emulation::refuse(std::uint64_t pc) {
  Run& run = parts_.run;
  const std::optional<Insn> insn = decode(pc, run.code->fetch(pc), run.config.processor());
  CHECK(insn.has_value(), pc);
  char bytes[64] = "";
  int length = 0;
  for (std::size_t i = 0; i < insn->length; ++i)
    length += std::snprintf(bytes + length, sizeof bytes - static_cast<std::size_t>(length), "%02x ", insn->bytes[i]);
  char text[512];
  std::snprintf(text, sizeof text, "%s: at 0x%llx: the instruction %sis %s, which this engine does not run",
                run.program.exe_path.c_str(), static_cast<unsigned long long>(pc), bytes, refused_kind(*insn));
  // A process that is not recorded of its own account shares its memory with one that is.
  run.recording.refused(text);
  threads_.exit_process(kToolFailed);
}

}  // namespace zs::engine

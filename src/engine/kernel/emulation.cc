#include "engine/kernel/emulation.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "arch/linear.h"
#include "base/check.h"
#include "engine/segment_bases.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kInvalidOpcode = 6, kStackFault = 12, kGeneralProtection = 13;

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

}  // namespace

Emulation::Form::Form(const Insn& insn) : opcode(insn.bytes[insn.opcode_at]) {
  const std::uint8_t modrm = insn.modrm_at != 0 ? insn.bytes[insn.modrm_at] : 0;
  extension = modrm >> 3 & 7u;
  unsigned number = modrm & 7u;
  for (unsigned at = 0; at < insn.opcode_at; ++at) {
    const std::uint8_t prefix = insn.bytes[at];
    repeat |= prefix == 0xF3;
    wide |= (prefix & 0xF8u) == 0x48;
    if ((prefix & 0xF1u) == 0x41) number |= 8u;
  }
  reg = static_cast<Gpr>(number);
}

// RDFSBASE, RDGSBASE, WRFSBASE, WRGSBASE, MOV FS, MOV GS. returns false if it has raised a fault
bool Emulation::emulate_segment_base(const Form& form, std::uint64_t pc) {
  Run& run = parts_.run;
  std::uint64_t& reg = run.gpr(form.reg);
  if (form.opcode == 0x8E) {
    constexpr unsigned kFsRegister = 4;
    if ((reg & 0xFFFCu) != 0) refuse(pc);
    if (form.extension == kFsRegister)
      run.set_fs_base(base_behind_null_selector(run.context.fs_base));
    else
      run.context.gs_base = base_behind_null_selector(run.context.gs_base);
    return true;
  }
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

void Emulation::go_back_to(std::uint64_t pc) {
  Thread& thread = *parts_.run.thread;
  thread.step.active = thread.step_traps = false;
  thread.pc = pc;
}

bool Emulation::raise_fault(std::uint64_t pc, int signal, int code, std::uint64_t address, std::uint64_t trap) {
  go_back_to(pc);
  parts_.signals.raise_fault(signal, code, address, trap);
  return false;
}

// The instruction at `pc` reads the stack at `address`, and cannot.
bool Emulation::raise_stack_fault(std::uint64_t pc, std::uint64_t address) {
  if (!arch::is_canonical(address)) return raise_fault(pc, SIGBUS, SI_KERNEL, 0, kStackFault);
  go_back_to(pc);
  if (parts_.run.map.mappings().prot_at(address) != PROT_NONE && parts_.awaited.contains(address))
    parts_.awaited.touch_without_lock({address, address + 1}, false);
  else
    parts_.signals.raise_page_fault(address, false);
  return false;
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
  if (const std::size_t got = run.read(rsp, &frame, size); got != size) return raise_stack_fault(insn.pc, rsp + got);
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
  const std::optional<Insn> insn = decode(exit.pc, run.code->fetch(exit.pc), run.config.virtual_time);
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
  if (form.opcode == 0xAE || form.opcode == 0x8E) {
    if (!emulate_segment_base(form, exit.pc)) return;
  } else if (form.opcode == 0x31) {
    set_edx_eax(parts_.clock.tsc());
  } else if (form.opcode == 0x01) {  // RDTSCP
    set_edx_eax(parts_.clock.tsc());
    run.gpr(kRcx) = 0;
  } else if (form.opcode == 0xA2) {  // CPUID: the host's, without what names the core it ran on
    const auto leaf = static_cast<std::uint32_t>(run.gpr(kRax));
    std::uint32_t a = leaf, b = 0, c = static_cast<std::uint32_t>(run.gpr(kRcx)), d = 0;
    asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (leaf == 1) b &= 0x00FFFFFF;
    if (leaf == 0xB || leaf == 0x1F) d = 0;
    run.gpr(kRax) = a;
    run.gpr(kRbx) = b;
    run.gpr(kRcx) = c;
    run.gpr(kRdx) = d;
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
  char bytes[64] = "";
  int length = 0;
  for (const std::uint8_t byte : run.code->fetch(pc).first(std::min<std::size_t>(run.code->fetch(pc).size(), 8))) {
    length += std::snprintf(bytes + length, sizeof bytes - static_cast<std::size_t>(length), "%02x ", byte);
  }
  char text[512];
  std::snprintf(text, sizeof text,
                "%s: at 0x%llx: the instruction %sis a far transfer, a 32-bit system call, a 16-bit branch or loads FS "
                "or GS with a segment, which this engine does not run",
                run.program.exe_path.c_str(), static_cast<unsigned long long>(pc), bytes);
  // A process that is not recorded of its own account shares its memory with one that is.
  run.recording.refused(text);
  threads_.exit_process(kToolFailed);
}

}  // namespace zs::engine

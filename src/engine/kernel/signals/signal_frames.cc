#include "engine/kernel/signals/signal_frames.h"

#include <cstring>

#include "engine/kernel/virtual_time/extended_state.h"
#include "engine/memory/store_key.h"
#include "engine/raw_syscall.h"
#include "engine/translate/stubs.h"

namespace zs::engine {
namespace {

/// RF, which the processor sets in what it saves of a fault, and not of a trap.
constexpr std::uint64_t kResumeFlag = 0x10000;
/// source: SDM vol. 3A, table "Exceptions and Interrupts": all that reach a program are faults but debug traps, INT3
/// and INTO.
bool resumes_at_its_instruction(const Fault& fault) {
  return fault.trap_number != 1 && fault.trap_number != 3 && fault.trap_number != 4;
}

constexpr std::int32_t kAutodisarm = INT32_MIN;  // SS_AUTODISARM, 1U << 31

bool lies_in(const stack_t& alternate, std::uint64_t sp) {
  const auto base = reinterpret_cast<std::uint64_t>(alternate.ss_sp);
  return sp > base && sp - base <= alternate.ss_size;
}

/// The kernel's rules for a new alternate stack. returns 0 or why it is none
long change(stack_t& alternate, const stack_t& wanted) {
  constexpr std::size_t kSmallest = 2048;
  const int mode = wanted.ss_flags & ~kAutodisarm;
  if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE) return -EINVAL;
  // What is so already is not looked at: at first it is zeros.
  if (wanted.ss_sp == alternate.ss_sp && wanted.ss_size == alternate.ss_size && wanted.ss_flags == alternate.ss_flags)
    return 0;
  if (mode == SS_DISABLE) {
    alternate = stack_t{nullptr, wanted.ss_flags, 0};
    return 0;
  }
  if (wanted.ss_size < kSmallest) return -ENOMEM;
  alternate = wanted;
  return 0;
}

/// What lies between its members is written, too.
void put_stack(stack_t& to, const stack_t& stack) {
  std::memset(&to, 0, sizeof to);
  to.ss_sp = stack.ss_sp;
  to.ss_flags = stack.ss_flags;
  to.ss_size = stack.ss_size;
}

}  // namespace

bool SignalFrames::on_alternate_stack(std::uint64_t sp) const {
  const stack_t& alternate = threads_.thread->alternate;
  return (alternate.ss_flags & (SS_DISABLE | kAutodisarm)) == 0 && lies_in(alternate, sp);
}

KernelUcontext SignalFrames::saved_registers() const {
  KernelUcontext uc{};
  uc.flags = 7;  // UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS
  for (unsigned reg = 0; reg < 16; ++reg) uc.context.registers[kSavedAt[reg]] = context_.gpr[reg];
  uc.context.registers[REG_RIP] = threads_.thread->pc;
  uc.context.registers[REG_EFL] = context_.flags | (threads_.thread->traps ? kTrapFlag : 0);
  uc.context.cs = 0x33;
  uc.context.ss = 0x2B;
  return uc;
}

std::vector<std::byte> SignalFrames::saved_xstate() const {
  const std::uint32_t xsave_size = shown_state_bytes(level_);
  std::vector<std::byte> fp(xsave_size + 4);
  const std::span area(reinterpret_cast<const std::byte*>(&context_) + kXsaveOffset, xsave_bytes());
  if (level_ == arch::CpuLevel::Host)
    std::ranges::copy(area, fp.begin());
  else
    store_state(area, shown_components(level_), level_, std::span(fp).first(xsave_size));
  // A component in its initial state may not have been written; handlers read the area all the same.
  std::uint64_t components = 0;
  std::memcpy(&components, fp.data() + 512, 8);
  if ((components & 1) == 0) {
    constexpr std::uint16_t kInitialControl = 0x37F;
    std::memset(fp.data(), 0, 24);
    std::memset(fp.data() + 32, 0, 128);
    std::memcpy(fp.data(), &kInitialControl, sizeof kInitialControl);
  }
  if ((components & 2) == 0) std::memset(fp.data() + 160, 0, 256);
  if ((components & 4) == 0 && xsave_size >= 832) std::memset(fp.data() + 576, 0, 256);
  if (level_ == arch::CpuLevel::Host && !has_xsave()) {
    fp.resize(512);
    return fp;
  }
  FpSoftwareBytes software{};
  software.magic1 = kFpMagic1;
  software.extended_size = xsave_size + 4;
  software.xfeatures = shown_components(level_);
  software.xstate_size = xsave_size;
  std::memcpy(fp.data() + kFpSoftwareOffset, &software, sizeof software);
  std::memcpy(fp.data() + xsave_size, &kFpMagic2, 4);
  return fp;
}

// source: Linux, arch/x86/kernel/signal.c and fpu/signal.c: frame layout and alignment.
bool SignalFrames::push(int signal, const siginfo_t& info, const KernelSigaction& action, const Fault* fault) {
  Thread& thread = *threads_.thread;
  constexpr std::uint64_t kRedZone = 128;
  if ((action.flags & kSaRestorer) == 0) return false;
  std::uint64_t sp = context_.gpr[kRsp] - kRedZone;
  const bool has_alternate = thread.alternate.ss_size != 0 && (thread.alternate.ss_flags & SS_DISABLE) == 0;
  const bool nests = on_alternate_stack(context_.gpr[kRsp]);
  const bool enters = (action.flags & SA_ONSTACK) != 0 && has_alternate && !on_alternate_stack(sp);
  if (enters) {
    sp = reinterpret_cast<std::uint64_t>(thread.alternate.ss_sp) + thread.alternate.ss_size;
  }
  const std::vector<std::byte> fp = saved_xstate();
  sp = (sp - fp.size()) & ~std::uint64_t{63};
  const std::uint64_t fpstate = sp;
  sp = ((sp - sizeof(SignalFrame)) & ~std::uint64_t{15}) - 8;
  if ((nests || enters) && !lies_in(thread.alternate, sp)) return false;  // it is too small

  SignalFrame frame;
  std::memset(&frame, 0, sizeof frame);
  frame.return_address = action.restorer;
  frame.uc = saved_registers();
  put_stack(frame.uc.stack, thread.alternate);
  KernelSigcontext& c = frame.uc.context;
  if (fault != nullptr) {
    c.err = fault->error_code;
    c.trapno = fault->trap_number;
    c.cr2 = fault->address;
    if (resumes_at_its_instruction(*fault)) c.registers[REG_EFL] |= kResumeFlag;
  }
  c.oldmask = thread.mask;
  c.fpstate = fpstate;
  frame.uc.mask = thread.mask;
  frame.info = threads_.ids.shown_info(signal, info);

  if (memory_.write(fpstate, fp.data(), fp.size()) != fp.size()) return false;
  if (memory_.write(sp, &frame, sizeof frame) != sizeof frame) return false;
  if (has_alternate && (thread.alternate.ss_flags & kAutodisarm) != 0)
    thread.alternate = stack_t{nullptr, SS_DISABLE, 0};

  context_.gpr[kRdi] = static_cast<std::uint64_t>(signal);
  context_.gpr[kRsi] = sp + offsetof(SignalFrame, info);
  context_.gpr[kRdx] = sp + offsetof(SignalFrame, uc);
  context_.gpr[kRax] = 0;
  context_.gpr[kRsp] = sp;
  thread.pc = action.handler;
  context_.flags &= ~std::uint64_t{0x10400};  // DF, RF
  thread.traps = thread.step_traps = false;
  // source: Linux, arch/x86/kernel/signal.c: handle_signal(), "Ensure the signal handler starts with the new fpu state"
  begin_state(reinterpret_cast<std::byte*>(&context_) + kXsaveOffset);
  return true;
}

bool SignalFrames::restore() {
  Thread& thread = *threads_.thread;
  const std::uint64_t at = context_.gpr[kRsp] - 8;
  SignalFrame frame;
  if (memory_.read(at, &frame, sizeof frame) != sizeof frame) return false;
  const KernelSigcontext& c = frame.uc.context;
  auto* xsave = reinterpret_cast<std::byte*>(&context_) + kXsaveOffset;
  const std::span area(xsave, xsave_bytes());
  const std::uint32_t xsave_size = shown_state_bytes(level_);
  const bool is_host = level_ == arch::CpuLevel::Host;
  std::vector<std::byte> fp(xsave_size);
  if (c.fpstate == 0) {
    begin_state(xsave);
  } else {
    FpSoftwareBytes software{};
    bool extended = memory_.read(c.fpstate + kFpSoftwareOffset, &software, sizeof software) == sizeof software &&
                    software.magic1 == kFpMagic1 && software.xstate_size <= xsave_size && software.xstate_size >= 576;
    if (extended) {
      std::uint32_t magic2 = 0;
      extended = memory_.read(c.fpstate + software.xstate_size, &magic2, 4) == 4 && magic2 == kFpMagic2;
    }
    const std::size_t size = extended ? software.xstate_size : 512;
    if (is_host)
      std::ranges::copy(area, fp.begin());
    else
      store_state(area, shown_components(level_), level_, fp);
    if (memory_.read(c.fpstate, fp.data(), size) != size) return false;
    std::uint64_t components = 3;
    if (extended) std::memcpy(&components, fp.data() + 512, 8);
    components &= shown_components(level_);
    std::memset(fp.data() + 512, 0, 64);
    std::memcpy(fp.data() + 512, &components, 8);
    std::uint32_t mxcsr, mxcsr_mask;
    std::memcpy(&mxcsr, fp.data() + 24, 4);
    std::memcpy(&mxcsr_mask, xsave + 28, 4);  // as the CPU wrote it
    mxcsr &= mxcsr_mask != 0 ? mxcsr_mask : 0xFFBF;
    std::memcpy(fp.data() + 24, &mxcsr, 4);
    if (is_host)
      std::ranges::copy(fp, xsave);
    else
      load_state(fp, shown_components(level_), level_, area);
  }
  for (unsigned reg = 0; reg < 16; ++reg) context_.gpr[reg] = c.registers[kSavedAt[reg]];
  thread.pc = c.registers[REG_RIP];
  constexpr std::uint64_t kRestorable = 0x50CD5;  // AC OF DF TF SF ZF AF PF CF RF, as FIX_EFLAGS
  thread.traps = (c.registers[REG_EFL] & kTrapFlag) != 0;
  context_.flags = ((context_.flags & ~kRestorable) | (c.registers[REG_EFL] & kRestorable)) & ~kTrapFlag;
  // As sigaltstack would, but that nobody hears why not.
  if (!on_alternate_stack(context_.gpr[kRsp])) change(thread.alternate, frame.uc.stack);
  thread.mask = frame.uc.mask & ~kNeverBlocked;
  return true;
}

long SignalFrames::set_alternate(std::uint64_t stack, std::uint64_t old) {
  Thread& thread = *threads_.thread;
  const bool on_it = on_alternate_stack(context_.gpr[kRsp]);
  const stack_t& now = thread.alternate;
  stack_t before;
  put_stack(before, now);
  before.ss_flags = (now.ss_flags & kAutodisarm) | (now.ss_size == 0 ? SS_DISABLE : on_it ? SS_ONSTACK : 0);
  if (stack != 0) {
    const auto wanted = memory_.value_at<stack_t>(stack);
    if (!wanted) return -EFAULT;
    if (on_it) return -EPERM;
    if (const long error = change(thread.alternate, *wanted); error != 0) return error;
  }
  if (old != 0 && memory_.write(old, &before, sizeof before) != sizeof before) return -EFAULT;
  return 0;
}

}  // namespace zs::engine

#include "machine/vcpu/native_run.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <vector>

namespace zs::machine::test {
namespace {

// The page of state, right after the page of code: absolute 32-bit addresses reach it without a register.
constexpr std::uint32_t kState = static_cast<std::uint32_t>(kNativeBase) + 0x1000;
constexpr std::uint32_t kGprs = kState, kFlags = kState + 0x80, kHostSp = kState + 0x88, kSignal = kState + 0x90;
constexpr std::uint32_t kTo32 = kState + 0x98, kUsualMxcsr = kState + 0xA8, kFx = kState + 0x100;
constexpr std::uint32_t kEntry64 = static_cast<std::uint32_t>(kNativeBase), kEntry32 = kEntry64 + 0x200,
                        kLeave = kEntry64 + 0x400, kRecover = kEntry64 + 0x600;
constexpr std::uint64_t kSignalStackBytes = 0x10000;

class Assembler {
 public:
  explicit Assembler(std::uint64_t at) : at_(reinterpret_cast<std::uint8_t*>(at)) {}
  void bytes(std::initializer_list<unsigned> list) {
    for (const unsigned b : list) *at_++ = static_cast<std::uint8_t>(b);
  }
  void word32(std::uint32_t value) {
    std::memcpy(at_, &value, 4);
    at_ += 4;
  }
  /// An instruction whose memory operand is an absolute address: `opcode` then ModRM.reg.
  void absolute(std::initializer_list<unsigned> opcode, unsigned reg, std::uint32_t address) {
    bytes(opcode);
    bytes({4u | (reg & 7) << 3, 0x25u});
    word32(address);
  }
  void load(unsigned reg, std::uint32_t address) { absolute({reg < 8 ? 0x48u : 0x4Cu, 0x8B}, reg, address); }
  void store(unsigned reg, std::uint32_t address) { absolute({reg < 8 ? 0x48u : 0x4Cu, 0x89}, reg, address); }
  void jump(std::uint32_t target) {
    bytes({0xE9});
    word32(target - (static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(at_)) + 4));
  }

 private:
  std::uint8_t* at_;
};

void enter(Assembler& a) {
  a.bytes({0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57});  // push rbx rbp r12..r15
  a.store(4, kHostSp);
  a.absolute({0x48, 0x0F, 0xAE}, 1, kFx);  // fxrstor64
  a.absolute({0xFF}, 6, kFlags);           // push flags
  a.bytes({0x9D});                         // popf
  for (unsigned n = 0; n < 16; ++n) a.load(n, kGprs + 8 * n);
}

void on_signal(int number, siginfo_t*, void* context) {
  auto* uc = static_cast<ucontext_t*>(context);
  *reinterpret_cast<std::uint64_t*>(static_cast<std::uint64_t>(kSignal)) = static_cast<std::uint64_t>(number);
  uc->uc_mcontext.gregs[REG_RIP] = kRecover;
  uc->uc_mcontext.gregs[REG_EFL] = 0x202;
  auto& selectors = uc->uc_mcontext.gregs[REG_CSGSFS];
  selectors = (selectors & ~0xFFFFll) | 0x33;
}

constexpr int kSignals[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGTRAP};

}  // namespace

NativeRunner::NativeRunner() {
  void* const want = reinterpret_cast<void*>(kNativeBase);
  void* const got = mmap(want, 0x8000 + kSignalStackBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != want) {
    trouble_ = "the host has no room at 0x30000000";
    return;
  }
  Assembler in64(kEntry64);
  enter(in64);
  in64.jump(static_cast<std::uint32_t>(kNativeInsn64));
  Assembler in32(kEntry32);
  in32.bytes({0xB8, 0x2B, 0, 0, 0, 0x8E, 0xD8, 0x8E, 0xC0});  // mov eax, 2Bh; mov ds, eax; mov es, eax
  enter(in32);
  in32.absolute({0xFF}, 5, kTo32);  // jmp far
  const struct [[gnu::packed]] {
    std::uint32_t offset;
    std::uint16_t selector;
  } to32{static_cast<std::uint32_t>(kNativeInsn32), 0x23};
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uint64_t>(kTo32)), &to32, sizeof to32);
  const std::uint32_t usual = 0x1F80;
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uint64_t>(kUsualMxcsr)), &usual, sizeof usual);

  Assembler out(kLeave);
  for (unsigned n = 0; n < 16; ++n) out.store(n, kGprs + 8 * n);
  out.load(4, kHostSp);
  out.bytes({0x9C});                         // pushf
  out.absolute({0x8F}, 0, kFlags);           // pop
  out.absolute({0x48, 0x0F, 0xAE}, 0, kFx);  // fxsave64
  out.jump(kRecover);

  Assembler back(kRecover);
  back.load(4, kHostSp);
  back.bytes({0x68, 0x02, 0x02, 0, 0, 0x9D});   // push 202h; popf
  back.bytes({0xDB, 0xE2, 0xDB, 0xE3});         // fnclex; fninit
  back.absolute({0x0F, 0xAE}, 2, kUsualMxcsr);  // ldmxcsr
  back.bytes({0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3});

  stack_t stack{};
  stack.ss_sp = reinterpret_cast<void*>(kNativeBase + 0x8000);
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

NativeRunner::~NativeRunner() {
  for (const int number : kSignals) signal(number, SIG_DFL);
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  if (trouble_[0] == '\0') munmap(reinterpret_cast<void*>(kNativeBase), 0x8000 + kSignalStackBytes);
}

std::span<std::uint8_t> NativeRunner::data() const {
  return {reinterpret_cast<std::uint8_t*>(kNativeData), kNativeDataBytes};
}

int NativeRunner::run(std::span<const std::uint8_t> insn, NativeState& state, bool code32) {
  const auto place = code32 ? kNativeInsn32 : kNativeInsn64;
  auto* const code = reinterpret_cast<std::uint8_t*>(place);
  std::memcpy(code, insn.data(), insn.size());
  if (code32) {  // jmp 33h:leave
    const std::uint8_t far[] = {0xEA, kLeave & 255, kLeave >> 8 & 255, kLeave >> 16 & 255, kLeave >> 24, 0x33, 0};
    std::memcpy(code + insn.size(), far, sizeof far);
  } else {
    Assembler(place + insn.size()).jump(kLeave);
  }
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uint64_t>(kGprs)), state.gpr.data(), 128);
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uint64_t>(kFlags)), &state.flags, 8);
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uint64_t>(kFx)), state.fx.data(), 512);
  auto* const signal_seen = reinterpret_cast<volatile std::uint64_t*>(static_cast<std::uint64_t>(kSignal));
  *signal_seen = 0;
  const auto entry = reinterpret_cast<void (*)()>(static_cast<std::uint64_t>(code32 ? kEntry32 : kEntry64));
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tcall *%0\n\tleaq 128(%%rsp), %%rsp"
                   :
                   : "r"(entry)
                   : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1",
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                     "xmm14", "xmm15");
  std::memcpy(state.gpr.data(), reinterpret_cast<void*>(static_cast<std::uint64_t>(kGprs)), 128);
  std::memcpy(&state.flags, reinterpret_cast<void*>(static_cast<std::uint64_t>(kFlags)), 8);
  std::memcpy(state.fx.data(), reinterpret_cast<void*>(static_cast<std::uint64_t>(kFx)), 512);
  return static_cast<int>(*signal_seen);
}

}  // namespace zs::machine::test

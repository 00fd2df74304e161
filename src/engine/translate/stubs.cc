#include "engine/translate/stubs.h"

#include <array>
#include <cstring>

#include "arch/this_processor.h"
#include "base/check.h"
#include "engine/memory/store_key.h"
#include "engine/translate/emitter.h"
#include "engine/translate/near_stop.h"
#include "engine/translate/stand_in.h"

namespace zs::engine {
namespace {

/// A rip-relative operand on the context with opcode bytes in front: `extension` is ModRM.reg.
void on_context(Emitter& out, std::initializer_list<unsigned> opcode, unsigned extension, std::uint64_t address) {
  out.code(opcode);
  out.u8(0x05u | (extension << 3));
  out.u32(Emitter::relative(address, out.here() + 4));
}

// source: SDM vol. 1, "XSAVE Area"
constexpr std::size_t kMxcsrAt = 24, kBehindMxcsrMask = 32, kHeaderAt = 512;
constexpr std::uint32_t kLegacyComponents = 3, kLegacyBytes = 576;  // x87 and SSE; with the header
constexpr unsigned kFxsave = 0, kFxrstor = 1, kXsave = 4, kXrstor = 5, kXsaveopt = 6;

bool has_xsaveopt() { return (arch::leaf_here(0xD, 1).eax & 1) != 0; }

/// One of the instructions that save or load all components.
void emit_for_all(Emitter& out, unsigned extension, std::uint64_t area) {
  for (const auto& [mov, half] : {std::pair{0xB8U, xsave_mask()}, {0xBAU, xsave_mask() >> 32}}) {  // eax, edx
    out.u8(mov);
    out.u32(static_cast<std::uint32_t>(half));
  }
  on_context(out, {0x48, 0x0F, 0xAE}, extension, area);
}

/// XSAVEOPT skips what has not changed since XRSTOR loaded it from here: most exits touch no vector register.
void emit_xsave(Emitter& out, std::uint64_t area) {
  if (has_xsave()) return emit_for_all(out, has_xsaveopt() ? kXsaveopt : kXsave, area);
  on_context(out, {0x48, 0x0F, 0xAE}, kFxsave, area);
  out.store_imm32(kXsaveOffset + kHeaderAt, kLegacyComponents);
}
void emit_xrstor(Emitter& out, std::uint64_t area) {
  if (has_xsave()) return emit_for_all(out, kXrstor, area);
  on_context(out, {0x48, 0x0F, 0xAE}, kFxrstor, area);
}

bool has_avx() { return (arch::leaf_here(1).ecx >> 28 & 1) != 0 && (xsave_mask() & 4) != 0; }

}  // namespace

bool has_lahf() { return (arch::leaf_here(0x8000'0001).ecx & 1) != 0; }

// These ask once: in a virtual machine CPUID takes as long as a thousand instructions, and threads switch often.

bool has_xsave() {
  static const bool has = arch::xcr0_here() != 0;
  return has;
}

std::uint32_t xsave_bytes() {
  static const std::uint32_t bytes = has_xsave() ? arch::leaf_here(0xD).ebx : kLegacyBytes;
  return bytes;
}

std::uint64_t xsave_mask() {
  static const std::uint64_t mask = arch::xcr0_here() | kLegacyComponents;
  return mask;
}

std::uint32_t xsave_offset(unsigned component) {
  static const auto offsets = [] {
    std::array<std::uint32_t, 8> all{};
    for (unsigned i = 2; i < all.size(); ++i) all[i] = arch::leaf_here(0xD, i).ebx;
    return all;
  }();
  return offsets[component];
}

void begin_state(std::byte* area) {
  constexpr std::uint16_t kInitialControl = 0x37F;
  constexpr std::uint32_t kInitialMxcsr = 0x1F80;
  std::memset(area, 0, kMxcsrAt);
  std::memset(area + kBehindMxcsrMask, 0, kLegacyBytes - kBehindMxcsrMask);
  std::memcpy(area, &kInitialControl, sizeof kInitialControl);
  std::memcpy(area + kMxcsrAt, &kInitialMxcsr, sizeof kInitialMxcsr);
  StoreKey::instance().begin_in(area);
}

Stubs generate_stubs(const CodeCache& cache, std::uint64_t (*dispatch)(Context*)) {
  const std::uint64_t context = cache.context_address();
  const std::uint64_t area = context + kXsaveOffset;
  Emitter out(cache.layout().stubs, cache.layout().code, context);
  Stubs stubs;
  const auto align = [&] {
    while (out.here() % 16 != 0) out.u8(0xCC);
  };
  const auto pad = [&](std::uint64_t& address) {  // a jump at a known place, to be patched
    align();
    address = out.here();
    out.jmp(address);
    return out.here();
  };
  const std::uint64_t direct_miss_after = pad(stubs.direct_miss), hashed_miss_after = pad(stubs.hashed_miss);
  CHECK(stubs.direct_miss == cache.layout().direct_miss() && stubs.hashed_miss == cache.layout().hashed_miss());

  // The program's to and from the Context; the stack is the engine's in between.
  const auto bias = static_cast<std::int32_t>(cache.trace().pointer_bias());
  const auto save_pointer = [&] {
    if (bias != 0) out.add_disp(kTracePointer, bias);
    out.store(offsetof(Context, trace_pointer), kTracePointer);
  };
  const auto load_pointer = [&] {
    out.load(kTracePointer, offsetof(Context, trace_pointer));
    if (bias != 0) out.add_disp(kTracePointer, -bias);
  };
  const auto save_registers = [&] {
    save_pointer();
    for (unsigned reg = 0; reg < 16; ++reg) {
      if (reg != kTracePointer) out.store(gpr_offset(reg), static_cast<Gpr>(reg));
    }
    out.load(kRsp, offsetof(Context, host_rsp));
    out.u8(0x9C);                                                    // pushfq
    on_context(out, {0x8F}, 0, context + offsetof(Context, flags));  // pop [flags]
  };
  const auto load_registers = [&] {
    on_context(out, {0xFF}, 6, context + offsetof(Context, flags));  // push [flags]
    out.u8(0x9D);                                                    // popfq
    for (unsigned reg = 0; reg < 16; ++reg) {
      if (reg != kTracePointer) out.load(static_cast<Gpr>(reg), gpr_offset(reg));
    }
    load_pointer();
    out.jmp_slot(offsetof(Context, enter_at));
  };
  const auto call = [&](auto* function) {  // with the Context
    out.mov_imm(kRdi, context);
    out.mov_imm(kRax, reinterpret_cast<std::uint64_t>(function));
    out.code({0xFF, 0xD0});  // call rax
  };

  // --- into the cache ---
  stubs.enter = out.here();
  out.mov(kRax, kRdi);
  const std::uint64_t enter_with_rax = out.here();
  out.store(offsetof(Context, enter_at), kRax);
  emit_xrstor(out, area);
  load_registers();

  // --- out of the cache ---
  align();
  const std::uint64_t common = out.here();
  save_registers();
  const std::uint64_t common_after_registers = out.here();
  out.code({0x6A, 0x02, 0x9D});  // push 2; popfq: DF, AC, TF clear for C++
  emit_xsave(out, area);
  // wrpkru of 0. The program's rights are saved, and come back with all that was.
  if (StoreKey::instance().there()) out.code({0x31, 0xC0, 0x31, 0xC9, 0x31, 0xD2, 0x0F, 0x01, 0xEF});
  on_context(out, {0x0F, 0xAE}, 2, context + offsetof(Context, host_mxcsr));  // ldmxcsr
  out.code({0xDB, 0xE3});                                                     // fninit
  if (has_avx()) out.code({0xC5, 0xF8, 0x77});                                // vzeroupper
  call(dispatch);
  out.jmp(enter_with_rax);

  const auto stub = [&](ExitReason reason) {
    align();
    const std::uint64_t at = out.here();
    out.store_imm32(offsetof(Context, reason), static_cast<std::uint32_t>(reason));
    out.jmp(common);
    return at;
  };
  stubs.unlinked = stub(ExitReason::Unlinked);
  stubs.step_done = stub(ExitReason::StepDone);
  stubs.indirect_miss = stub(ExitReason::IndirectMiss);
  Emitter::patch_rel32(direct_miss_after, stubs.indirect_miss);
  align();
  Emitter::patch_rel32(hashed_miss_after, out.here());
  out.load(kRax, offsetof(Context, slot_rax));
  out.jmp(stubs.indirect_miss);
  stubs.guard = stub(ExitReason::Guard);
  stubs.fault = stub(ExitReason::Fault);

  // --- a stop: past it where that may be, with the vector registers left alone ---
  align();
  stubs.at_stop = out.here();
  out.mov(kRcx, kTracePointer);
  load_pointer();  // of the block's entry, as it was when the stop was chosen
  out.store_imm32(offsetof(Context, reason), static_cast<std::uint32_t>(ExitReason::Stopped));
  save_registers();
  call(&zs_pass_stop);
  out.mov(kRcx, kRax);
  out.jmp_unless_rcx_is_0(out.here());
  const std::uint64_t passes_after = out.here();
  out.jmp(common_after_registers);
  Emitter::patch_rel32(passes_after, out.here());
  out.store(offsetof(Context, enter_at), kRax);
  load_registers();

  // --- out and in again, with the vector registers left alone; the flags are the caller's to keep ---
  align();
  stubs.choose_stop = out.here();
  constexpr Gpr kKept[] = {kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kRsp};  // what a call may change
  for (const Gpr reg : kKept) out.store(gpr_offset(reg), reg);
  out.store(offsetof(Context, slot_scratch), kRax);
  save_pointer();
  out.load(kRsp, offsetof(Context, host_rsp));
  call(&zs_choose_stop);
  out.store(offsetof(Context, enter_at), kRax);
  for (const Gpr reg : kKept) out.load(reg, gpr_offset(reg));
  out.load(kRax, offsetof(Context, slot_scratch));
  load_pointer();
  out.jmp_slot(offsetof(Context, enter_at));
  return stubs;
}

}  // namespace zs::engine

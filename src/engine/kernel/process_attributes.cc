#include "engine/kernel/process_attributes.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "engine/kernel/call_handlers.h"

namespace zs::engine {
namespace {

constexpr auto always = [](std::uint64_t) { return true; };
constexpr auto if_zero = [](std::uint64_t argument) { return argument == 0; };

// Numbers, because no libc's headers have all of them.
// source: Linux 6.18, uapi/linux/prctl.h, uapi/asm/prctl.h, uapi/linux/seccomp.h
// clang-format off
constexpr ProcessAttribute kAttributes[] = {
    {SYS_prctl, 1,  "PR_SET_PDEATHSIG"},
    {SYS_prctl, 2,  "PR_GET_PDEATHSIG"},
    {SYS_prctl, 3,  "PR_GET_DUMPABLE"},
    {SYS_prctl, 4,  "PR_SET_DUMPABLE"},
    {SYS_prctl, 5,  "PR_GET_UNALIGN"},
    {SYS_prctl, 6,  "PR_SET_UNALIGN"},
    {SYS_prctl, 7,  "PR_GET_KEEPCAPS"},
    {SYS_prctl, 8,  "PR_SET_KEEPCAPS"},
    {SYS_prctl, 9,  "PR_GET_FPEMU"},
    {SYS_prctl, 10, "PR_SET_FPEMU"},
    {SYS_prctl, 11, "PR_GET_FPEXC"},
    {SYS_prctl, 12, "PR_SET_FPEXC"},
    {SYS_prctl, 13, "PR_GET_TIMING"},
    {SYS_prctl, 14, "PR_SET_TIMING"},
    {SYS_prctl, 15, "PR_SET_NAME", calls::set_name},
    {SYS_prctl, 16, "PR_GET_NAME"},
    {SYS_prctl, 19, "PR_GET_ENDIAN"},
    {SYS_prctl, 20, "PR_SET_ENDIAN"},
    {SYS_prctl, 21, "PR_GET_SECCOMP"},
    {SYS_prctl, 22, "PR_SET_SECCOMP", calls::set_seccomp},
    {SYS_prctl, 23, "PR_CAPBSET_READ"},
    {SYS_prctl, 24, "PR_CAPBSET_DROP"},
    // The engine itself asks the processor for the time.
    {SYS_prctl, 25, "PR_GET_TSC", calls::get_tsc},
    {SYS_prctl, 26, "PR_SET_TSC", calls::set_tsc},
    {SYS_prctl, 27, "PR_GET_SECUREBITS"},
    {SYS_prctl, 28, "PR_SET_SECUREBITS"},
    {SYS_prctl, 29, "PR_SET_TIMERSLACK"},
    {SYS_prctl, 30, "PR_GET_TIMERSLACK"},
    {SYS_prctl, 31, "PR_TASK_PERF_EVENTS_DISABLE"},
    {SYS_prctl, 32, "PR_TASK_PERF_EVENTS_ENABLE"},
    {SYS_prctl, 33, "PR_MCE_KILL"},
    {SYS_prctl, 34, "PR_MCE_KILL_GET"},
    {SYS_prctl, 35, "PR_SET_MM", calls::set_mm},
    {SYS_prctl, 36, "PR_SET_CHILD_SUBREAPER"},
    {SYS_prctl, 37, "PR_GET_CHILD_SUBREAPER"},
    {SYS_prctl, 38, "PR_SET_NO_NEW_PRIVS"},
    {SYS_prctl, 39, "PR_GET_NO_NEW_PRIVS"},
    {SYS_prctl, 40, "PR_GET_TID_ADDRESS"},
    {SYS_prctl, 41, "PR_SET_THP_DISABLE"},
    {SYS_prctl, 42, "PR_GET_THP_DISABLE"},
    {SYS_prctl, 43, "PR_MPX_ENABLE_MANAGEMENT"},
    {SYS_prctl, 44, "PR_MPX_DISABLE_MANAGEMENT"},
    {SYS_prctl, 45, "PR_SET_FP_MODE"},
    {SYS_prctl, 46, "PR_GET_FP_MODE"},
    {SYS_prctl, 47, "PR_CAP_AMBIENT"},
    {SYS_prctl, 50, "PR_SVE_SET_VL"},
    {SYS_prctl, 51, "PR_SVE_GET_VL"},
    {SYS_prctl, 52, "PR_GET_SPECULATION_CTRL"},
    {SYS_prctl, 53, "PR_SET_SPECULATION_CTRL"},
    {SYS_prctl, 54, "PR_PAC_RESET_KEYS"},
    {SYS_prctl, 55, "PR_SET_TAGGED_ADDR_CTRL"},
    {SYS_prctl, 56, "PR_GET_TAGGED_ADDR_CTRL"},
    {SYS_prctl, 57, "PR_SET_IO_FLUSHER"},
    {SYS_prctl, 58, "PR_GET_IO_FLUSHER"},
    {SYS_prctl, 59, "PR_SET_SYSCALL_USER_DISPATCH", calls::set_dispatch},
    {SYS_prctl, 60, "PR_PAC_SET_ENABLED_KEYS"},
    {SYS_prctl, 61, "PR_PAC_GET_ENABLED_KEYS"},
    {SYS_prctl, 62, "PR_SCHED_CORE"},
    {SYS_prctl, 63, "PR_SME_SET_VL"},
    {SYS_prctl, 64, "PR_SME_GET_VL"},
    // The engine's memory has to be written and executed, here and in what this process executes.
    {SYS_prctl, 65, "PR_SET_MDWE", calls::set_mdwe},
    {SYS_prctl, 66, "PR_GET_MDWE", calls::get_mdwe},
    {SYS_prctl, 67, "PR_SET_MEMORY_MERGE"},
    {SYS_prctl, 68, "PR_GET_MEMORY_MERGE"},
    {SYS_prctl, 69, "PR_RISCV_V_SET_CONTROL"},
    {SYS_prctl, 70, "PR_RISCV_V_GET_CONTROL"},
    {SYS_prctl, 71, "PR_RISCV_SET_ICACHE_FLUSH_CTX"},
    {SYS_prctl, 72, "PR_PPC_GET_DEXCR"},
    {SYS_prctl, 73, "PR_PPC_SET_DEXCR"},
    // What x86 has of the same is below, by arch_prctl.
    {SYS_prctl, 74, "PR_GET_SHADOW_STACK_STATUS"},
    {SYS_prctl, 75, "PR_SET_SHADOW_STACK_STATUS"},
    {SYS_prctl, 76, "PR_LOCK_SHADOW_STACK_STATUS"},
    {SYS_prctl, 77, "PR_TIMER_CREATE_RESTORE_IDS"},
    {SYS_prctl, 78, "PR_FUTEX_HASH"},
    {SYS_prctl, 0x41555856, "PR_GET_AUXV"},
    {SYS_prctl, 0x53564d41, "PR_SET_VMA"},
    {SYS_prctl, 0x59616d61, "PR_SET_PTRACER"},

    {SYS_arch_prctl, ARCH_SET_GS, "ARCH_SET_GS", calls::set_base},
    {SYS_arch_prctl, ARCH_SET_FS, "ARCH_SET_FS", calls::set_base},
    {SYS_arch_prctl, ARCH_GET_FS, "ARCH_GET_FS", calls::get_base},
    {SYS_arch_prctl, ARCH_GET_GS, "ARCH_GET_GS", calls::get_base},
    {SYS_arch_prctl, 0x1011, "ARCH_GET_CPUID"},
    // As where the processor cannot do it: the engine itself asks what the processor is.
    {SYS_arch_prctl, 0x1012, "ARCH_SET_CPUID", nullptr, if_zero, -ENODEV, "CPUID that faults"},
    {SYS_arch_prctl, 0x1021, "ARCH_GET_XCOMP_SUPP"},
    {SYS_arch_prctl, 0x1022, "ARCH_GET_XCOMP_PERM"},
    {SYS_arch_prctl, 0x1023, "ARCH_REQ_XCOMP_PERM"},
    {SYS_arch_prctl, 0x1024, "ARCH_GET_XCOMP_GUEST_PERM"},
    {SYS_arch_prctl, 0x1025, "ARCH_REQ_XCOMP_GUEST_PERM"},
    {SYS_arch_prctl, 0x2001, "ARCH_MAP_VDSO_X32"},
    {SYS_arch_prctl, 0x2002, "ARCH_MAP_VDSO_32"},
    {SYS_arch_prctl, 0x2003, "ARCH_MAP_VDSO_64"},
    {SYS_arch_prctl, 0x4001, "ARCH_GET_UNTAG_MASK"},
    // Addresses with something else in their upper bits: where the processor knows them, the engine does not.
    {SYS_arch_prctl, 0x4002, "ARCH_ENABLE_TAGGED_ADDR", nullptr, always, -ENODEV, "linear address masking"},
    {SYS_arch_prctl, 0x4003, "ARCH_GET_MAX_TAG_BITS"},
    {SYS_arch_prctl, 0x4004, "ARCH_FORCE_TAGGED_SVA"},
    // The engine's own returns would be compared with it. As on a processor without it.
    {SYS_arch_prctl, 0x5001, "ARCH_SHSTK_ENABLE", nullptr, always, -EOPNOTSUPP},
    {SYS_arch_prctl, 0x5002, "ARCH_SHSTK_DISABLE"},
    {SYS_arch_prctl, 0x5003, "ARCH_SHSTK_LOCK"},
    {SYS_arch_prctl, 0x5004, "ARCH_SHSTK_UNLOCK"},
    {SYS_arch_prctl, 0x5005, "ARCH_SHSTK_STATUS"},

    {SYS_seccomp, 0, "SECCOMP_SET_MODE_STRICT", calls::set_seccomp},
    {SYS_seccomp, 1, "SECCOMP_SET_MODE_FILTER", calls::set_seccomp},
    {SYS_seccomp, 2, "SECCOMP_GET_ACTION_AVAIL"},
    {SYS_seccomp, 3, "SECCOMP_GET_NOTIF_SIZES"},
};
// clang-format on

constexpr auto place_of = [](const ProcessAttribute& attribute) { return std::pair(attribute.call, attribute.kind); };
static_assert(std::ranges::is_sorted(kAttributes, {}, place_of) &&
              std::ranges::adjacent_find(kAttributes, {}, place_of) == std::end(kAttributes));

}  // namespace

const ProcessAttribute* process_attribute(long call, int kind) {
  const auto* const found = std::ranges::lower_bound(kAttributes, std::pair(call, kind), {}, place_of);
  return found != std::end(kAttributes) && place_of(*found) == std::pair(call, kind) ? found : nullptr;
}

}  // namespace zs::engine

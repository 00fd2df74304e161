// The bases of FS and GS. The program's FS base lies in the processor's GS base, also while C++ runs, and its
// instructions with an FS prefix are translated with the GS prefix; the engine's own thread-local storage stays at FS.
// So entering and leaving translated code changes no base, which takes a system call where the processor, or the
// virtual machine, has no FSGSBASE. What the program wants with GS runs as single steps (Dispatcher::resume) with its
// GS base in place, which is kept in Context::gs_base.
#pragma once

#include <cstdint>

namespace zs::engine {

/// Whether RDFSBASE, RDGSBASE, WRFSBASE and WRGSBASE execute in a program here: CR4.FSGSBASE. AT_HWCAP2 says whether
/// the kernel keeps what they write; under some hypervisors it does not, and they execute all the same.
bool base_instructions_execute();

/// The processor's GS base. returns 0, or the negative error number of arch_prctl(ARCH_SET_GS)
long set_real_gs_base(std::uint64_t base);

/// The exception of a load of FS or GS with `selector`, a number of the manual's; 0: none.
unsigned fault_of_selector(std::uint16_t selector);

/// The base that FS or GS has behind a load with `selector`, which faults not, while its base was `base`. Of a null
/// selector (0 to 3) processors of Intel clear it, those of AMD may keep it.
std::uint64_t base_behind_selector(std::uint16_t selector, std::uint64_t base);

/// Whether LFS and LGS with REX.W load a pointer of 64 bits; to processors of AMD it is one of 32.
bool has_far_pointers_of_64_bits();

}  // namespace zs::engine

// What the kernel's code is called: /proc/kallsyms, or the copy that perf keeps of it beside the build-id (~/.debug),
// if it is of the kernel that was recorded. The names are shown as perf shows them: "[kernel.kallsyms]", modules as
// "[xfs]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/perf_data/records.h"
#include "profile/symbols/symbol_table.h"

namespace zs::profile {

/// What perf calls the image of a kernel's mapping: "[kernel.kallsyms]" for "[kernel.kallsyms]_text", "[xfs]" for the
/// path of xfs.ko.
std::string kernel_image_name(const std::string& path);
/// The symbol that a mapping of the kernel itself is named after: "_text"; "" for a module.
std::string_view reference_symbol(std::string_view path);

/// Lines of "ADDRESS TYPE NAME[\tMODULE]"; code only. `shift` is added to each address of the kernel itself; modules
/// are left out if it is not 0, since they lie elsewhere in each boot.
/// returns an empty table if the addresses are hidden (all 0)
SymbolTable parse_kallsyms(std::string_view text, std::uint64_t shift);
/// The address of `symbol` in kallsyms; 0 if it is not there.
std::uint64_t address_in_kallsyms(std::string_view text, std::string_view symbol);

/// Who the recorded kernel was.
struct KernelIdentity {
  std::optional<BuildId> build_id;
  std::string release;  // "6.1.0-9-amd64"; "" if the recording does not say
};
KernelIdentity running_kernel();
/// The build-id among the notes of a kernel, as /sys/kernel/notes has them.
std::optional<BuildId> build_id_of_notes(const std::string& notes);

/// Where perf keeps kallsyms of that kernel; "" without a home.
std::string kept_kallsyms(const BuildId& kernel);

/// kallsyms of the kernel that was recorded, or "" and in `problem` why.
std::string kallsyms_of(const KernelIdentity& recorded, std::string& problem);

}  // namespace zs::profile

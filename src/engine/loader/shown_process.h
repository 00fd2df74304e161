// What other processes see of this one under /proc: the program's command line, environment, auxiliary vector, code and
// stack, not those of the tool that runs it (ps, pgrep -f, a shell that looks after its children).
// Not shown: its executable, which the kernel keeps for what was executed; who is under zeroskid itself asks
// shown_executable(). What is mapped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/loader/program.h"

namespace zs::engine {

/// Once, when the program is loaded. Nothing happens where the kernel does not allow it (no CONFIG_CHECKPOINT_RESTORE).
/// executable_fd  a descriptor that others find the program's file by, in every process under zeroskid the same
void show_process(const LoadedProgram& program, const OpenedImage& image, int executable_fd);

/// `path` is what somebody wants to know of a process under /proc. If that has just been executed and its program is
/// not shown yet, which for the kernel is in the middle of the execve: waits until it is, a second at most.
void wait_until_shown(std::string_view path, int executable_fd);

/// A field of what /proc/PID/stat says, counted from 1 as in proc(5); of those behind the name, which may hold
/// anything.
std::uint64_t stat_field(const std::string& stat, unsigned number);

/// The tool's own heap, which is what the kernel shows as the program's.
AddressRange own_heap();

/// Makes descriptors of [first, end) that are free copies of `last`, so that the program gets none of these numbers.
void occupy_descriptors(int first, int end, int last);

/// What readlink of /proc/PID/exe should say for another process that is under zeroskid; nullopt: it is not, or `path`
/// is another file.
std::optional<std::string> shown_executable(std::string_view path, int executable_fd);

}  // namespace zs::engine

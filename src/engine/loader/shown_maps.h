// What the program sees in /proc/PID/maps and smaps of another process under this zeroskid: the mappings of the program
// there, not the engine's. Which these are the kernel's page says together with what that process publishes
// (memory/shown_code.h). Not shown: mappings that a driver placed among the tool's own (the rings of io_uring).
#pragma once

#include <optional>
#include <string>

namespace zs::engine {

/// path  as the kernel knows it: /proc/PID/maps or smaps, or those of one of its threads
/// returns what should be read there; nullopt: it is another file, or of a process that is not under this zeroskid, or
/// may not be read
std::optional<std::string> shown_maps(const std::string& path);

}  // namespace zs::engine

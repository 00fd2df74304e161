// What the program must see under /proc for its own process: itself, not the tool that it lives in. Recognises the
// paths, and makes the contents that differ.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zs::engine {

class Mappings;
struct LoadedProgram;

enum class ProcFile : std::uint8_t { Exe, Maps, Smaps, Mem, Auxv, Cmdline, Environ };

/// Which of our own files under /proc a path names: /proc/self/X, /proc/thread-self/X, /proc/<pid>/X, and
/// /proc/{self,<pid>}/task/<tid>/X. `pid` as the program sees it. Only absolute paths; "//" and "/./" are understood,
/// ".." and symbolic links are not. nullopt: none of our business.
std::optional<ProcFile> own_proc_file(std::string_view path, int pid);

/// The descriptor of ours that a path names: X of /proc/self/fd/X and /proc/self/fdinfo/X, and by the other names of
/// own_proc_file().
std::optional<int> own_descriptor_file(std::string_view path, int pid);

struct ProcAnswer {
  enum class Kind : std::uint8_t {
    Path,     // work on `text` instead: open it, stat it; readlink returns it
    Content,  // open gives a descriptor that reads `text` (see open_content); stat and readlink go to the kernel
    Memory,   // the kernel's answer; what is written there may be code
  };
  Kind kind = Kind::Content;
  std::string text;
};

/// For open and openat (and for readlink, stat when Kind::Path): what to do instead of the real system call.
std::optional<ProcAnswer> proc_path(std::string_view path, int pid, const LoadedProgram& program,
                                    const Mappings& mappings);

/// The memfd's name where the content is that of the process's own maps, for PROCMAP_QUERY; else kOtherContent.
inline constexpr const char *kMapsContent = "zeroskid maps", *kOtherContent = "proc";

/// A read-only descriptor (a memfd) that reads `content`. `flags`: the program's open flags, of which O_CLOEXEC is
/// kept.
/// Returns the lowest free descriptor, as open would, or -errno; -EACCES if `flags` ask for writing.
long open_content(std::string_view content, int flags, const char* name = kOtherContent);

}  // namespace zs::engine

// What was mapped where, in each process, at the current point of a recording: fed COMM, MMAP2, FORK and EXIT in the
// order of time, asked for the mapping behind an address.
// Mappings are only ever seen to appear, as with perf: one that covers an older one cuts it. A fork copies, an exec
// forgets. Processes are kept after EXIT, for samples whose time is that of the exit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/perf_data/addresses.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

/// One executable image or other file as it was mapped; shared by every process that mapped the same one.
struct Image {
  std::string path;
  std::optional<BuildId> build_id;
  std::int32_t jit_pid = 0;  // anonymous executable memory of this process: /tmp/perf-PID.map may name its code
  std::uint32_t number = 0;  // in order of appearance
  bool code = false;         // some mapping of it was executable
};

struct Mapping {
  std::uint64_t start = 0, end = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t protection = 0;
  Image* image = nullptr;
  FileOffset file_offset_of(std::uint64_t address) const { return FileOffset{address - start + file_offset}; }
};

inline constexpr std::int32_t kKernelPid = -1;  // whose mappings the kernel's are

class AddressSpaces {
 public:
  void apply(const Comm& comm);
  void apply(const Mmap& mmap);
  void apply(const Fork& fork);
  void apply(const Exit&) {}
  /// Any of them; other records change nothing.
  void apply(const Record& record);

  /// The mapping of `address` in process `pid`, or nullptr. Stays valid until the next apply().
  const Mapping* find(std::int32_t pid, std::uint64_t address) const;
  /// The kernel's (pid -1) mapping of `address`, or nullptr.
  const Mapping* find_kernel(std::uint64_t address) const { return find(kKernelPid, address); }

  /// Every mapping of a process, by address.
  void for_each_mapping(std::int32_t pid, const std::function<void(const Mapping&)>& take) const;
  /// Differs whenever mappings of this process have changed.
  std::uint64_t generation(std::int32_t pid) const;

  /// Name of a thread; ":TID" if no COMM named it or an ancestor.
  std::string comm(std::int32_t pid, std::int32_t tid) const;

  /// Every image seen, in order of appearance.
  const std::vector<std::unique_ptr<Image>>& images() const { return images_; }

 private:
  using Mappings = std::map<std::uint64_t, Mapping>;  // by start; never overlapping
  Image* image_of(const Mmap& mmap);
  Mappings& mappings_to_change(std::int32_t pid);
  void changed(std::int32_t pid);

  std::unordered_map<std::int32_t, std::shared_ptr<Mappings>> processes_;
  std::unordered_map<std::int32_t, std::uint64_t> generations_;
  std::uint64_t latest_generation_ = 0;
  std::unordered_map<std::int32_t, std::string> comms_;  // by tid
  std::map<std::string, Image*> images_by_key_;
  std::vector<std::unique_ptr<Image>> images_;
  mutable std::int32_t last_pid_ = 0;
  mutable const Mapping* last_found_ = nullptr;
};

}  // namespace zs::profile

#include "engine/memory/proc_maps.h"

#include <vector>

#include "engine/memory/real_maps.h"

namespace zs::engine {

std::string proc_maps(const Mappings& mappings) {
  const std::vector<RealMapping> real = read_real_maps();
  std::string text;
  auto kernels = real.begin();
  mappings.for_each([&](const GuestMapping& mapping) {
    while (kernels != real.end() && kernels->end <= mapping.start) ++kernels;
    RealMapping line{.start = mapping.start,
                     .end = mapping.end,
                     .prot = mapping.prot,
                     .shared = mapping.shared(),
                     .offset = mapping.offset,
                     .path = mapping.name()};
    if (mapping.file) {
      line.device_major = mapping.file->device_major;
      line.device_minor = mapping.file->device_minor;
      line.inode = mapping.file->inode;
      // The file may have been renamed or deleted since; the kernel knows.
      const bool is_file = kernels != real.end() && kernels->start <= mapping.start && kernels->path.starts_with('/');
      if (is_file) {  // the first shared memory of System V has the inode 0
        line.device_major = kernels->device_major;
        line.device_minor = kernels->device_minor;
        line.inode = kernels->inode;
        line.path = kernels->path;
      }
    }
    text += maps_line(line);
  });
  return text;
}

std::string proc_smaps(const Mappings& mappings) {
  std::string text;
  for (RealMapping& real : read_real_smaps()) {
    const GuestMapping* const mapping = mappings.at_or_after(real.start);
    if (mapping == nullptr || mapping->start >= real.end) continue;
    real.prot = mapping->prot;
    if (real.path.empty() || real.path.front() == '[') real.path = mapping->name();
    text += maps_line(real) + real.tail;
  }
  return text;
}

}  // namespace zs::engine

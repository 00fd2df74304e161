#include "engine/kernel/mapping_reports.h"

#include <sys/mman.h>

#include <utility>

namespace zs::engine {

void MappingReports::report(std::uint64_t address, std::uint64_t length) {
  const std::uint64_t end = address + length;
  while (address < end) {
    const GuestMapping* found = run_.map.mappings().find(address);
    if (found == nullptr) {
      address = run_.map.mappings().next_boundary(address);
      continue;
    }
    if ((found->prot & PROT_EXEC) != 0) {
      run_.code_cache->direct_table().expect_code(found->range());
      if (!found->file || !written_.may_be_written(*found->file)) cache_.mapped(found->range());
    }
    Mapping mapping;
    mapping.start = found->start;
    mapping.length = found->end - found->start;
    mapping.file_offset = found->offset;
    mapping.protection = found->prot;
    mapping.flags = found->flags;
    mapping.path = found->name();
    if (mapping.path.empty()) mapping.path = "//anon";
    if (found->file) {
      mapping.device_major = found->file->device_major;
      mapping.device_minor = found->file->device_minor;
      mapping.inode = found->file->inode;
    }
    run_.observer().mapped(run_.shown(), mapping);
    probes_.adopt();
    address = found->end;
  }
}

}  // namespace zs::engine

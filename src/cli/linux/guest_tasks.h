// What runs in the guest, read from the memory of its Linux without its doing: which thread, under what name, and what
// is mapped where its code lies. The kernel's BTF says where members are; the tree of mappings is that of Linux 6.1 and
// later. What cannot be read, or is being changed at this moment, is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace zs::machine {
class Pc;
}

namespace zs::cli {

class GuestTasks {
 public:
  struct Task {
    std::int32_t pid = 0, tid = 0;
    std::uint64_t space = 0;  // of its process; 0: a thread of the kernel
    std::string name;
  };
  struct Area {
    std::uint64_t start = 0, end = 0, page_offset = 0, flags = 0, file = 0, inode = 0;
    bool operator==(const Area&) const = default;
  };

  /// The guest runs a program now.
  /// current  where the kernel's variables of each CPU have the thread that runs
  static Result<GuestTasks> look_at(machine::Pc& pc, std::uint64_t current);

  /// Nothing where the page tables in use do not lead to the kernel's memory (page-table isolation).
  std::optional<Task> current() const;
  /// What is mapped at an address of a program.
  std::optional<Area> area_at(std::uint64_t space, std::uint64_t address) const;
  /// "/usr/bin/sh", "[vdso]", "//anon"
  std::string name_of(const Area& area, std::uint64_t space) const;
  /// PROT_* and MAP_*.
  static std::uint32_t protection_of(const Area& area);
  static std::uint32_t flags_of(const Area& area);

 private:
  /// Where members lie, named like them.
  struct Offsets {
    std::uint64_t task_pid, task_tgid, task_comm, task_mm;
    std::uint64_t mm_tree, mm_vdso;
    std::uint64_t vma_start, vma_end, vma_pgoff, vma_flags, vma_file;
    std::uint64_t file_dentry, file_mnt, inode_ino, dentry_name, dentry_parent, dentry_inode;
    std::uint64_t vfsmount_root, mount_mnt, mount_parent, mount_mountpoint;
  };
  GuestTasks(machine::Pc& pc, std::uint64_t current, const Offsets& offsets)
      : pc_(&pc), current_(current), offsets_(offsets) {}
  std::uint64_t word(std::uint64_t address) const;
  std::string text(std::uint64_t address, std::size_t most) const;

  machine::Pc* pc_;
  std::uint64_t current_;  // the address of that variable
  Offsets offsets_;
};

}  // namespace zs::cli

#include "cli/linux/guest_tasks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "cli/linux/btf.h"
#include "machine/memory.h"
#include "machine/pc.h"
#include "machine/vcpu/vcpu.h"

namespace zs::cli {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kMostSteps = 64;  // from a file to the root, and from the root of a tree to a leaf

/// A node of a maple tree: so many slots, and between them pivots, the last indices of what the slots are for.
/// source: Linux, include/linux/maple_tree.h: maple_range_64, maple_arange_64, and how pointers tell them apart.
struct NodeLayout {
  std::uint64_t pivots, slots, count;
};
constexpr NodeLayout kRange{8, 128, 16}, kAllocationRange{8, 80, 10};
constexpr std::uint64_t kNodeMask = ~std::uint64_t{0xFF};
constexpr bool is_root_node(std::uint64_t entry) { return (entry & 3) == 2 && entry > kPage; }
enum NodeType : std::uint8_t { kLeaf = 1, kRange64 = 2, kAllocationRange64 = 3 };
constexpr unsigned type_of(std::uint64_t node) { return node >> 3 & 15; }

}  // namespace

Result<GuestTasks> GuestTasks::look_at(machine::Pc& pc, std::uint64_t current) {
  machine::PhysicalMemory& memory = pc.memory();
  const auto btf = Btf::find_in(Bytes(memory.page(machine::kHighRam), memory.size() - machine::kHighRam));
  if (!btf)
    return Error{"this kernel does not say where its structures' members lie", "build it with CONFIG_DEBUG_INFO_BTF"};
  Offsets at{};
  struct Row {
    const char *structure, *path;
    std::uint64_t& offset;
  };
  const Row rows[] = {{"task_struct", "pid", at.task_pid},
                      {"task_struct", "tgid", at.task_tgid},
                      {"task_struct", "comm", at.task_comm},
                      {"task_struct", "mm", at.task_mm},
                      {"mm_struct", "mm_mt.ma_root", at.mm_tree},
                      {"mm_struct", "context.vdso", at.mm_vdso},
                      {"vm_area_struct", "vm_start", at.vma_start},
                      {"vm_area_struct", "vm_end", at.vma_end},
                      {"vm_area_struct", "vm_pgoff", at.vma_pgoff},
                      {"vm_area_struct", "vm_flags", at.vma_flags},
                      {"vm_area_struct", "vm_file", at.vma_file},
                      {"file", "f_path.dentry", at.file_dentry},
                      {"file", "f_path.mnt", at.file_mnt},
                      {"inode", "i_ino", at.inode_ino},
                      {"dentry", "d_name.name", at.dentry_name},
                      {"dentry", "d_parent", at.dentry_parent},
                      {"dentry", "d_inode", at.dentry_inode},
                      {"vfsmount", "mnt_root", at.vfsmount_root},
                      {"mount", "mnt", at.mount_mnt},
                      {"mount", "mnt_parent", at.mount_parent},
                      {"mount", "mnt_mountpoint", at.mount_mountpoint}};
  for (const Row& row : rows) {
    const auto offset = btf->offset_of(row.structure, row.path);
    if (!offset) {
      return Error{
          "this kernel's " + std::string(row.structure) + " has no " + row.path + ", by which its programs are known",
          "take one from Linux 6.1 on"};
    }
    row.offset = *offset;
  }
  return GuestTasks(pc, pc.cpu().state().kernel_gs_base + current, at);
}

std::uint64_t GuestTasks::word(std::uint64_t address) const {
  std::uint64_t value = 0;
  return pc_->cpu().peek(address, std::as_writable_bytes(std::span(&value, 1))) ? value : 0;
}

std::string GuestTasks::text(std::uint64_t address, std::size_t most) const {
  std::string text;
  for (char byte = 0; text.size() < most; text += byte) {
    if (!pc_->cpu().peek(address + text.size(), std::as_writable_bytes(std::span(&byte, 1))) || byte == 0) break;
  }
  return text;
}

std::optional<GuestTasks::Task> GuestTasks::current() const {
  constexpr std::size_t kNameBytes = 15;
  const std::uint64_t task = word(current_);
  if (task == 0) return std::nullopt;
  return Task{.pid = static_cast<std::int32_t>(word(task + offsets_.task_tgid)),
              .tid = static_cast<std::int32_t>(word(task + offsets_.task_pid)),
              .space = word(task + offsets_.task_mm),
              .name = text(task + offsets_.task_comm, kNameBytes)};
}

std::optional<GuestTasks::Area> GuestTasks::area_at(std::uint64_t space, std::uint64_t address) const {
  std::uint64_t entry = word(space + offsets_.mm_tree);
  bool leaf = !is_root_node(entry);  // the tree of a single entry is that entry
  for (int step = 0; !leaf && step < kMostSteps; ++step) {
    leaf = type_of(entry) <= kLeaf;
    const NodeLayout& layout = type_of(entry) == kAllocationRange64 ? kAllocationRange : kRange;
    const std::uint64_t node = entry & kNodeMask;
    std::uint64_t i = 0;
    for (; i + 1 < layout.count; ++i) {
      const std::uint64_t pivot = word(node + layout.pivots + 8 * i);
      if (pivot >= address || (pivot == 0 && i != 0)) break;
    }
    entry = word(node + layout.slots + 8 * i);
  }
  if (!leaf || entry == 0) return std::nullopt;
  Area area{.start = word(entry + offsets_.vma_start),
            .end = word(entry + offsets_.vma_end),
            .page_offset = word(entry + offsets_.vma_pgoff) * kPage,
            .flags = word(entry + offsets_.vma_flags),
            .file = word(entry + offsets_.vma_file)};
  if (address < area.start || address >= area.end) return std::nullopt;
  if (area.file == 0) {
    area.page_offset = area.start;
  } else {
    area.inode = word(word(word(area.file + offsets_.file_dentry) + offsets_.dentry_inode) + offsets_.inode_ino);
  }
  return area;
}

std::string GuestTasks::name_of(const Area& area, std::uint64_t space) const {
  constexpr std::size_t kLongestName = 255;
  if (area.file == 0) return area.start == word(space + offsets_.mm_vdso) ? "[vdso]" : "//anon";
  std::uint64_t entry = word(area.file + offsets_.file_dentry);
  std::uint64_t mount = word(area.file + offsets_.file_mnt) - offsets_.mount_mnt;
  std::string path;
  for (int step = 0; step < kMostSteps; ++step) {
    if (entry == word(mount + offsets_.mount_mnt + offsets_.vfsmount_root)) {
      const std::uint64_t outer = word(mount + offsets_.mount_parent);
      if (outer == mount || outer == 0) break;
      entry = word(mount + offsets_.mount_mountpoint);
      mount = outer;
      continue;
    }
    path.insert(0, "/" + text(word(entry + offsets_.dentry_name), kLongestName));
    const std::uint64_t outer = word(entry + offsets_.dentry_parent);
    if (outer == entry || outer == 0) break;
    entry = outer;
  }
  return path;
}

std::uint32_t GuestTasks::protection_of(const Area& area) {
  // source: Linux, include/linux/mm.h: VM_READ, VM_WRITE and VM_EXEC are 1, 2 and 4, as PROT_* are; VM_SHARED is 8.
  return static_cast<std::uint32_t>(area.flags) & (PROT_READ | PROT_WRITE | PROT_EXEC);
}

std::uint32_t GuestTasks::flags_of(const Area& area) {
  constexpr std::uint64_t kShared = 8;
  return (area.flags & kShared) != 0 ? MAP_SHARED : MAP_PRIVATE;
}

}  // namespace zs::cli

#include "profile/perf_data/address_space.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <iterator>
#include <utility>

namespace zs::profile {
namespace {

/// Executable memory that no file backs: code of a just-in-time compiler.
bool is_anonymous(const std::string& path) {
  return path.empty() || path == "//anon" || path.starts_with("/dev/zero") || path.starts_with("/anon_hugepage") ||
         path.starts_with("/memfd:") || path.starts_with("/SYSV") || path == "[heap]" || path.starts_with("[anon:");
}

}  // namespace

Image* AddressSpaces::image_of(const Mmap& mmap) {
  const bool jit = (mmap.protection & PROT_EXEC) != 0 && is_anonymous(mmap.path);
  std::string key = mmap.path;
  if (mmap.build_id) key += '\0' + mmap.build_id->hex();
  if (jit) key = fmt::format("//jit-{}", mmap.pid);
  Image*& image = images_by_key_[key];
  if (image == nullptr) {
    auto made = std::make_unique<Image>();
    made->path = mmap.path.empty() ? "//anon" : mmap.path;
    made->build_id = mmap.build_id;
    made->jit_pid = jit ? mmap.pid : 0;
    made->number = static_cast<std::uint32_t>(images_.size());
    image = made.get();
    images_.push_back(std::move(made));
  }
  if ((mmap.protection & PROT_EXEC) != 0) image->code = true;
  return image;
}

void AddressSpaces::changed(std::int32_t pid) {
  last_found_ = nullptr;
  generations_[pid] = ++latest_generation_;
}

AddressSpaces::Mappings& AddressSpaces::mappings_to_change(std::int32_t pid) {
  changed(pid);
  std::shared_ptr<Mappings>& shared = processes_[pid];
  if (!shared) {
    shared = std::make_shared<Mappings>();
  } else if (shared.use_count() > 1) {
    shared = std::make_shared<Mappings>(*shared);
  }
  return *shared;
}

void AddressSpaces::apply(const Comm& comm) {
  comms_[comm.tid] = comm.name;
  if (!comm.exec) return;
  changed(comm.pid);
  processes_[comm.pid] = std::make_shared<Mappings>();
}

void AddressSpaces::apply(const Mmap& mmap) {
  if (mmap.length == 0 || mmap.start + mmap.length < mmap.start) return;
  Mappings& mappings = mappings_to_change(mmap.pid);
  const std::uint64_t end = mmap.end();

  auto at = mappings.upper_bound(mmap.start);
  if (at != mappings.begin() && std::prev(at)->second.end > mmap.start) --at;
  while (at != mappings.end() && at->second.start < end) {
    const Mapping old = at->second;
    at = mappings.erase(at);
    if (old.start < mmap.start) {
      Mapping left = old;
      left.end = mmap.start;
      mappings.emplace(left.start, left);
    }
    if (old.end > end) {
      Mapping right = old;
      right.file_offset = value(old.file_offset_of(end));
      right.start = end;
      mappings.emplace(right.start, right);
    }
  }
  mappings.insert_or_assign(mmap.start, Mapping{mmap.start, end, mmap.file_offset, mmap.protection, image_of(mmap)});
}

void AddressSpaces::apply(const Fork& fork) {
  const auto name = comms_.find(fork.parent_tid);
  if (name != comms_.end()) comms_[fork.tid] = std::string(name->second);
  if (fork.pid == fork.parent_pid) return;
  changed(fork.pid);
  const auto parent = processes_.find(fork.parent_pid);
  if (parent != processes_.end()) processes_[fork.pid] = std::shared_ptr<Mappings>(parent->second);
}

void AddressSpaces::apply(const Record& record) {
  if (const auto* comm = std::get_if<Comm>(&record)) return apply(*comm);
  if (const auto* mmap = std::get_if<Mmap>(&record)) return apply(*mmap);
  if (const auto* fork = std::get_if<Fork>(&record)) return apply(*fork);
}

const Mapping* AddressSpaces::find(std::int32_t pid, std::uint64_t address) const {
  if (last_found_ != nullptr && last_pid_ == pid && address >= last_found_->start && address < last_found_->end) {
    return last_found_;
  }
  const auto process = processes_.find(pid);
  if (process == processes_.end() || !process->second) return nullptr;
  const Mappings& mappings = *process->second;
  auto at = mappings.upper_bound(address);
  if (at == mappings.begin()) return nullptr;
  --at;
  if (address >= at->second.end) return nullptr;
  last_pid_ = pid;
  last_found_ = &at->second;
  return last_found_;
}

void AddressSpaces::for_each_mapping(std::int32_t pid, const std::function<void(const Mapping&)>& take) const {
  const auto process = processes_.find(pid);
  if (process == processes_.end() || !process->second) return;
  for (const auto& [start, mapping] : *process->second) take(mapping);
}

std::uint64_t AddressSpaces::generation(std::int32_t pid) const {
  const auto found = generations_.find(pid);
  return found != generations_.end() ? found->second : 0;
}

std::string AddressSpaces::comm(std::int32_t pid, std::int32_t tid) const {
  if (const auto found = comms_.find(tid); found != comms_.end()) return found->second;
  if (const auto found = comms_.find(pid); found != comms_.end()) return found->second;
  if (pid == 0 && tid == 0) return "swapper";  // the idle threads, of which no record tells
  return fmt::format(":{}", tid);
}

}  // namespace zs::profile

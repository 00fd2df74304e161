#include "engine/cache/translation_cache.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/elf_notes.h"
#include "base/own_image.h"
#include "engine/memory/copy_code.h"
#include "engine/raw_syscall.h"
#include "engine/translate/code_hash.h"
#include "engine/translate/snapshot.h"

namespace zs::engine {
namespace {

/// The build-id that the linker has put into this program, in words of eight bytes; empty: it has none.
std::vector<std::uint64_t> own_build_id() {
  for (const Elf64_Phdr& part : own_segments()) {
    if (part.p_type != PT_NOTE) continue;
    const Bytes id = build_id_in({reinterpret_cast<const std::byte*>(own_bias() + part.p_vaddr), part.p_memsz}, 4);
    if (id.empty()) continue;
    std::vector<std::uint64_t> words((id.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(words.data(), id.data(), id.size());
    return words;
  }
  return {};
}

/// Writing a file is not worth less.
constexpr std::size_t kFewestFresh = 64, kFreshShare = 20;

/// Whether a file of `theirs` bytes has nearly all that one of `ours` would have.
bool is_as_good(std::uint64_t theirs, std::uint64_t ours) { return 10 * theirs >= 9 * ours; }

}  // namespace

void TranslationCache::begin() {
  const Config& config = run_.config;
  if (config.cache_directory.empty() || config.precise_only || config.native_load || run_.counting.models) return;
  if (run_.phased) return;  // two translations, of which one knows more than the code
  if (config.virtual_time && !config.check_cache) return;
  if (own_build_id().empty()) return;
  folder_ = CacheDirectory(config.cache_directory, config.cache_bytes, config.first_private_fd);
  if (!folder_) return;
  key_ = key();
  name_ = name_of_file();
  begun_with_ = folder_.version(name_).inode;
  if (const OwnedFd file = folder_.open(name_)) {
    if (const auto snapshot = Snapshot::open(file.get(), key_)) restored_ = run_.translator->restore(*snapshot);
  }
  inherited_ = begun_blocks_ = run_.translator->made();
  flushes_ = run_.translator->flushes();
}

void TranslationCache::mapped(AddressRange range) {
  if (!run_.translator || !run_.translator->any_sleeps()) return;
  run_.map.mappings().for_each([&](const GuestMapping& mapping) {
    if (mapping.range().overlaps(range) && stable_code_at(mapping.start) != nullptr)
      run_.translator->wake(mapping.range(), *this, run_.config.check_cache);
  });
}

void TranslationCache::end() {
  compared_pages_ += std::exchange(hashed_pages_, 0);
  keep_what_is_new();
  keeping_ = false;
  if (run_.config.cache_statistics) tell();
}

void TranslationCache::keep_what_is_new() {
  if (!folder_ || run_.translator->made() - inherited_ < kFewestFresh) return;
  if (run_.translator->nearly_full() || key_ != key()) return;
  if (restored_ && run_.translator->flushes() != flushes_) return;  // what it began with is gone, and worth more
  settled_files_.clear();
  keeping_ = true;
  SnapshotMaker maker = run_.translator->snapshot(*this);
  // A look over a browser's blocks takes a second, and it has many processes, most of which have little that is new.
  // Nothing is kept of which less than half could be, so a share of all is at least half that share of what is kept.
  const std::size_t least = run_.translator->made() / (2 * kFreshShare);
  if (maker.may_be_fresh(inherited_) < std::max(kFewestFresh, least)) return;
  maker.look(inherited_);
  if (maker.fresh() < std::max(kFewestFresh, maker.kept() / kFreshShare)) return;
  if (2 * maker.kept() < run_.translator->made()) return;  // most of the file would be of code that nobody finds
  SnapshotWriter writer;
  maker.make(writer);
  writer.add(Part::Key, std::span<const std::uint64_t>(key_));
  // Where a shell has started a hundred children, each has something new, and mostly the same.
  const CacheDirectory::Version now = folder_.version(name_);
  if (now.inode != begun_with_ && is_as_good(now.bytes, writer.bytes())) return;
  folder_.replace(name_, writer);
  inherited_ = run_.translator->made();
}

// How much there was to translate.
void TranslationCache::tell() const {
  const std::size_t made = run_.translator->made(), new_ones = made - std::min(made, begun_blocks_);
  run_.observer().notice(run_.program.exe_path + ": " + std::to_string(new_ones) + " blocks translated, " +
                         std::to_string(restored_ ? begun_blocks_ : 0) + " taken from the cache, " +
                         std::to_string(compared_pages_) + " pages compared, " + std::to_string(hashed_pages_) +
                         " pages hashed at its end");
  run_.observer().notice(run_.program.exe_path + ": " + run_.visits.text());
}

// ---- the program's code ---------------------------------------------------------------------------------------

const GuestMapping* TranslationCache::stable_code_at(std::uint64_t address) const {
  const GuestMapping* const mapping = run_.map.mappings().find(address);
  const bool stable = mapping != nullptr && mapping->kind == MapKind::File && mapping->file && !mapping->shared() &&
                      (mapping->prot & PROT_EXEC) != 0 && (mapping->prot & PROT_WRITE) == 0;
  return stable ? mapping : nullptr;
}

AddressRange TranslationCache::mapping_of(std::uint64_t page) {
  const GuestMapping* const mapping = stable_code_at(page * kPageSize);
  if (mapping == nullptr) return {};
  return {mapping->start / kPageSize, mapping->end / kPageSize};
}

bool TranslationCache::is_settled(std::uint64_t page) {
  const GuestMapping* const mapping = stable_code_at(page * kPageSize);
  if (mapping == nullptr) return false;
  const auto [at, is_new] = settled_files_.try_emplace(mapping->file.get(), false);
  if (is_new) at->second = is_unchanged(*mapping->file);
  return at->second;
}

std::optional<std::uint64_t> TranslationCache::hash(std::uint64_t page) {
  alignas(64) std::array<std::byte, kPageSize> bytes;
  ++hashed_pages_;
  if (zs_copy_code(bytes.data(), page * kPageSize, kPageSize) != kPageSize) return std::nullopt;
  return hash_bytes(bytes);
}

// Of a mapping that was never writable, whose pages are all its file's own.
std::uint64_t TranslationCache::version(AddressRange pages) {
  const std::uint64_t start = pages.start * kPageSize;
  const GuestMapping* const mapping = stable_code_at(start);
  if (mapping == nullptr || mapping->end < pages.end * kPageSize || mapping->charged) return 0;
  const MappedFile& file = *mapping->file;
  if (!file.tells_changes || (keeping_ && any_copied(pages))) return 0;
  const std::uint64_t words[] = {std::uint64_t{file.device_major} << 32 | file.device_minor,
                                 file.inode,
                                 file.size,
                                 static_cast<std::uint64_t>(file.changed_ns),
                                 static_cast<std::uint64_t>(file.status_changed_ns),
                                 mapping->offset + (start - mapping->start)};
  return hash_of(std::span<const std::uint64_t>(words));
}

// A debugger writes to pages that nobody may write to, and the process gets copies of them.
// source: Documentation/admin-guide/mm/pagemap.rst
bool TranslationCache::any_copied(AddressRange pages) const {
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61, kSwapped = std::uint64_t{1} << 62,
                          kPresent = std::uint64_t{1} << 63;
  const OwnedFd pagemap = folder_.keep_off(raw_syscall(SYS_open, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::vector<std::uint64_t> words(pages.size());
  const long bytes = static_cast<long>(words.size() * sizeof words[0]);
  if (raw_syscall(SYS_pread64, pagemap.get(), words.data(), bytes, pages.start * sizeof words[0]) != bytes) return true;
  return std::ranges::any_of(
      words, [](std::uint64_t word) { return (word & (kSwapped | kPresent)) != 0 && (word & kOfFile) == 0; });
}

// ---- which file -----------------------------------------------------------------------------------------------

std::vector<std::uint64_t> TranslationCache::key() const {
  std::vector<std::uint64_t> key = own_build_id();
  const std::vector<std::uint64_t> of_code = run_.translator->key();
  key.insert(key.end(), of_code.begin(), of_code.end());
  for (const std::string* path : {&run_.program.exe_path, &run_.program.interpreter_path})
    key.push_back(hash_of(std::span<const char>(*path)));
  key.push_back(run_.thread->cpu.probes ? 1 : 0);  // whether the program's own probes are looked for
  return key;
}

/// The program's name, for people, and what distinguishes it from others.
std::string TranslationCache::name_of_file() const {
  std::string name = run_.program.exe_path.substr(run_.program.exe_path.rfind('/') + 1);
  constexpr std::size_t kLongest = 64;
  if (name.size() > kLongest) name.resize(kLongest);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '+' && c != '_'; }, '-');
  char distinction[24];
  std::snprintf(distinction, sizeof distinction, "-%016llx",
                static_cast<unsigned long long>(hash_of(std::span<const std::uint64_t>(key_))));
  return name + distinction;
}

}  // namespace zs::engine

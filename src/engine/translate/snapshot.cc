#include "engine/translate/snapshot.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "engine/memory/layout.h"
#include "engine/raw_syscall.h"
#include "engine/translate/code_hash.h"

namespace zs::engine {

/// The first page of the file.
struct Snapshot::Header {
  std::uint64_t magic = kMagic;
  std::uint64_t hash = 0;  // of all behind it
  std::uint64_t file_bytes = 0;
  Place places[kParts];
  std::byte rest[kPageSize - 3 * sizeof(std::uint64_t) - sizeof(Place) * kParts]{};

  static constexpr std::uint64_t kMagic = 0x3330'5350'414E'535A;  // "ZSNAPS03"; another number: another format
  std::uint64_t hash_of_rest() const {
    return hash_bytes(std::as_bytes(std::span(this, 1)).subspan(2 * sizeof(std::uint64_t)));
  }
};

namespace {

bool transfer_all(long call, int fd, std::byte* at, std::size_t bytes, std::uint64_t offset) {
  while (bytes != 0) {
    const long done = raw_syscall(call, fd, at, bytes, offset);
    if (done == -EINTR) continue;
    if (is_error(done) || done == 0) return false;
    at += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

bool read_all(int fd, void* at, std::size_t bytes, std::uint64_t offset) {
  return transfer_all(SYS_pread64, fd, static_cast<std::byte*>(at), bytes, offset);
}

bool write_all(int fd, const void* from, std::size_t bytes, std::uint64_t offset) {
  return transfer_all(SYS_pwrite64, fd, const_cast<std::byte*>(static_cast<const std::byte*>(from)), bytes, offset);
}

}  // namespace

// ---- writing --------------------------------------------------------------------------------------------------

std::size_t SnapshotWriter::bytes() const {
  return std::accumulate(std::begin(parts_), std::end(parts_), kPageSize,
                         [](std::size_t sum, const auto& part) { return sum + page_up(part.size()); });
}

bool SnapshotWriter::write(int fd) const {
  static_assert(sizeof(Snapshot::Header) == kPageSize);
  Snapshot::Header header;
  header.file_bytes = bytes();
  std::uint64_t offset = kPageSize;
  for (std::size_t i = 0; i < kParts; ++i) {
    header.places[i] = {.offset = offset, .bytes = parts_[i].size(), .hash = hash_bytes(parts_[i])};
    if (!write_all(fd, parts_[i].data(), parts_[i].size(), offset)) return false;
    offset += page_up(parts_[i].size());
  }
  header.hash = header.hash_of_rest();
  // The last page is whole, so that mappings of it are.
  return !is_error(raw_syscall(SYS_ftruncate, fd, header.file_bytes)) && write_all(fd, &header, sizeof header, 0);
}

// ---- reading --------------------------------------------------------------------------------------------------

std::optional<Snapshot> Snapshot::open(int fd, std::span<const std::uint64_t> key) {
  struct stat status;
  if (is_error(raw_syscall(SYS_fstat, fd, &status))) return std::nullopt;
  Header header;
  if (!read_all(fd, &header, sizeof header, 0)) return std::nullopt;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (header.magic != Header::kMagic || header.file_bytes != file_bytes || header.hash != header.hash_of_rest())
    return std::nullopt;
  for (const Place& place : header.places) {
    const bool inside = place.offset % kPageSize == 0 && place.offset >= kPageSize && place.offset <= file_bytes &&
                        place.bytes <= file_bytes && page_up(place.bytes) <= file_bytes - place.offset;
    if (!inside) return std::nullopt;
  }
  Snapshot snapshot;
  snapshot.fd_ = fd;
  std::ranges::copy(header.places, snapshot.places_);
  if (snapshot.bytes(Part::Key) != key.size_bytes()) return std::nullopt;
  std::vector<std::uint64_t> its_key;
  if (!snapshot.read(Part::Key, its_key) || !std::ranges::equal(its_key, key)) return std::nullopt;
  return snapshot;
}

bool Snapshot::is_sound(Part part, const void* at) const {
  const Place& place = places_[static_cast<std::size_t>(part)];
  return hash_bytes({static_cast<const std::byte*>(at), place.bytes}) == place.hash;
}

bool Snapshot::read(Part part, void* at) const {
  const Place& place = places_[static_cast<std::size_t>(part)];
  return read_all(fd_, at, place.bytes, place.offset) && is_sound(part, at);
}

bool Snapshot::map(Part part, void* at, int protection, Populate how) const {
  const Place& place = places_[static_cast<std::size_t>(part)];
  if (place.bytes == 0) return true;
  const std::uint64_t mapped = page_up(place.bytes);
  const long result =
      raw_syscall(SYS_mmap, at, mapped, protection, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd_, place.offset);
  if (is_error(result)) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(at);
  populate({begin, begin + mapped}, how);
  return is_sound(part, at);
}

}  // namespace zs::engine

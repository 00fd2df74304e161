// The bytes of a file that somebody sent: a file (mapped), a pipe or standard input ("-", read to its end); packed by
// gzip, xz or zstd, they are unpacked in memory. What is packed is told by its first bytes, not by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::profile {

struct FileBytes {
  Bytes bytes;
  std::string_view packed_by;    // "gzip", "xz", "zstd"; "": they are as they were in the file
  std::optional<Error> damage;   // the packed file is damaged or cut; `bytes` are those before that place
  std::int64_t modified_at = 0;  // seconds since 1970; 0 if unknown

  std::shared_ptr<const void> storage;  // keeps `bytes`
};

/// An Error says what cannot be read, and why; a file of no bytes is none.
Result<FileBytes> read_file_bytes(const std::string& path);

/// `bytes` as they are, or unpacked; they must outlive what is returned. `name` is for messages.
Result<FileBytes> unpacked(const std::string& name, Bytes bytes);

/// How much may be unpacked in memory: half of what the machine has.
std::uint64_t most_unpacked_bytes();

}  // namespace zs::profile

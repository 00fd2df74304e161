// Records that `perf record -z` compressed: COMPRESSED (81) and COMPRESSED2 (83) carry pieces of one zstd stream, which
// begins with the first of them and need not end. What comes out are records again, and one may begin in a piece and
// end in the next, with other records between the pieces. So such a recording is unpacked as a whole, before it is
// read. source: Linux 6.1, tools/perf/util/zstd.c and session.c (decompression), perf's own event.h for the newer type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::profile {

/// Whether any record of `records` is compressed. Stops at what is no record.
bool has_compressed_records(Bytes records);

struct UnpackedRecords {
  std::vector<std::byte> records;  // the compressed ones replaced by what they held
  std::optional<Error> damage;     // `records` are those before it
};

/// name    what messages call the file
/// origin  the place of records[0] in it
UnpackedRecords unpack_records(const std::string& name, Bytes records, std::uint64_t origin);

/// How many bytes a record has besides those in its size field: auxiliary traces, tracing data. 0 if that cannot be
/// read.
std::uint64_t bytes_behind_record(Bytes record);

}  // namespace zs::profile

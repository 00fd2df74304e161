// Packs records as `perf record -z` does: COMPRESSED records (81), pieces of one zstd stream that goes through the
// whole file. source: Linux 6.1, tools/perf/builtin-record.c (zstd_compress) and tools/perf/util/zstd.c.
// compressed_records.h unpacks them.
#pragma once

#include <cstdint>

#include "base/bytes.h"

struct ZSTD_CCtx_s;

namespace zs::profile {

class RecordPacker {
 public:
  static constexpr int kHighestLevel = 22;

  /// level  zstd's, from 1
  explicit RecordPacker(int level);
  ~RecordPacker();
  RecordPacker(const RecordPacker&) = delete;
  RecordPacker& operator=(const RecordPacker&) = delete;

  /// Appends the records, packed, so that what is in `out` can be unpacked without what follows.
  void pack(Bytes records, ByteWriter& out);

  /// What perf has to know of it: the level, how much smaller it became, room for what one record holds.
  ByteWriter feature() const;

 private:
  ZSTD_CCtx_s* stream_;
  int level_;
  std::uint64_t before_ = 0, after_ = 0;  // bytes
};

}  // namespace zs::profile

#include "profile/perf_data/record_packer.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {
namespace {

/// What a piece holds unpacked. Packed, even what cannot be made smaller fits into a record.
constexpr std::size_t kPieceBytes = std::size_t{56} << 10;
/// For perf, which unpacks a piece behind the part of a record that the one before left.
constexpr std::uint32_t kUnpackedBytes = 128 << 10;
static_assert(kUnpackedBytes >= kPieceBytes + perf::kMaxRecordBytes);

}  // namespace

RecordPacker::RecordPacker(int level) : stream_(ZSTD_createCCtx()), level_(level) {
  CHECK(stream_ != nullptr && level >= 1 && level <= kHighestLevel, level);
  CHECK(ZSTD_isError(ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, level)) == 0, level);
}

RecordPacker::~RecordPacker() { ZSTD_freeCCtx(stream_); }

void RecordPacker::pack(Bytes records, ByteWriter& out) {
  constexpr std::size_t kMost = perf::kMaxRecordBytes - sizeof(perf::RecordHeader);
  std::vector<std::byte> packed(kMost);
  for (std::size_t at = 0; at < records.size(); at += kPieceBytes) {
    const Bytes piece = records.subspan(at, std::min(kPieceBytes, records.size() - at));
    ZSTD_inBuffer from{piece.data(), piece.size(), 0};
    ZSTD_outBuffer to{packed.data(), packed.size(), 0};
    const std::size_t left = ZSTD_compressStream2(stream_, &to, &from, ZSTD_e_flush);
    CHECK(left == 0 && from.pos == from.size, left, from.pos, from.size);
    out.write(perf::RecordHeader{static_cast<std::uint32_t>(perf::RecordType::Compressed), 0,
                                 static_cast<std::uint16_t>(sizeof(perf::RecordHeader) + to.pos)});
    out.write_bytes(Bytes(packed).first(to.pos));
    before_ += piece.size();
    after_ += to.pos;
  }
}

ByteWriter RecordPacker::feature() const {
  constexpr std::uint32_t kVersion = 1, kZstd = 1;
  ByteWriter feature;
  for (const std::uint32_t word : {kVersion, kZstd, static_cast<std::uint32_t>(level_),
                                   static_cast<std::uint32_t>(after_ == 0 ? 0 : before_ / after_), kUnpackedBytes})
    feature.write(word);
  return feature;
}

}  // namespace zs::profile

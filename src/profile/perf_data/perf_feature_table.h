// What a recording says of itself behind its records: the features, each of a kind that perf numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "base/bytes.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/record_packer.h"
#include "profile/perf_data/recording.h"

namespace zs::profile {

/// An AUXTRACE record, without the trace behind it.
struct AuxtracePlace {
  std::uint64_t offset = 0, bytes = 0;  // in the file
};

struct FeatureSource {
  const RecordingDescription& description;
  const AddressSpaces& spaces;
  const std::set<const Image*>& used;  // images that a sample hit: their build-ids are told
  std::optional<std::uint64_t> first_sample_ns;
  std::uint64_t last_sample_ns;
  std::span<const AuxtracePlace> traces;
  const RecordPacker* packer = nullptr;  // of a recording that is compressed
};

/// The feature table, to be placed at `table_at`, with the payloads behind it. Sets the header's bitmap.
ByteWriter feature_table(const FeatureSource& source, std::uint64_t table_at, perf::FileHeader& header);

}  // namespace zs::profile

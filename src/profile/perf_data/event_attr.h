// How an event of a recording is described to the kernel, and in the file: what its samples hold, and in which rings it
// counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/recording.h"

namespace zs::profile {

/// The types of the events of ibs_op and ibs_fetch. chosen: what the kernel gives them on such processors; PMU_MAPPINGS
/// says whose they are.
inline constexpr std::uint32_t kIbsFetchType = 10, kIbsOpType = 11;

/// perf::sample_field bits of every sample.
std::uint64_t sample_type_of(const RecordingDescription& description);

/// The attr of event `index`. Records that a kernel writes for it fit the file.
perf::EventAttr attr_of(const RecordingDescription& description, std::size_t index);

/// The ids of an event's records: the kernel's, or its number from 1.
std::vector<std::uint64_t> record_ids_of(const RecordingDescription& description, std::size_t index);
/// The first of them.
std::uint64_t record_id_of(const RecordingDescription& description, std::size_t index);

}  // namespace zs::profile

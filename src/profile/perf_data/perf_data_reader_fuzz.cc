// The reader on anything, unpacked if it is packed: every input is read whole and, where it is damaged, up to the
// damage; what was accepted is then iterated in both orders and followed by address spaces, which must not fail on any
// record.
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "base/check.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/file_bytes.h"
#include "profile/perf_data/perf_data_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zs::profile;
  const auto packed = std::as_bytes(std::span(data, size));
  const auto file = unpacked("input", packed);
  const auto bytes = file ? file->bytes : packed;
  const auto strict = PerfDataReader::from_bytes("input", bytes);
  const auto lenient = PerfDataReader::from_bytes("input", bytes, {.truncated = true, .traces = Traces::Samples});
  const auto pieces = PerfDataReader::from_bytes("input", bytes, {.truncated = true, .traces = Traces::Pieces});
  CHECK(!strict || lenient);
  CHECK(pieces.has_value() == lenient.has_value());
  if (!strict) CHECK(!strict.error().message.empty());
  if (!lenient) return 0;
  for (const auto order : {PerfDataReader::Order::File, PerfDataReader::Order::Time}) {
    AddressSpaces spaces;
    std::uint64_t samples = 0;
    lenient->for_each(order, [&](const Record& record) {
      if (const auto* sample = std::get_if<SampleRecord>(&record)) {
        ++samples;
        CHECK(sample->sample.event < lenient->events().size());
        (void)spaces.find(sample->sample.pid, sample->sample.ip);
        (void)spaces.comm(sample->sample.pid, sample->sample.tid);
        return;
      }
      spaces.apply(record);
    });
    CHECK(samples == lenient->sample_count(), samples, lenient->sample_count());
  }
  return 0;
}

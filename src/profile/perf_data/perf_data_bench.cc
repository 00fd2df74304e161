// What a recording costs to write, sample by sample, and to read back.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/perf_data/perf_data_writer.h"

namespace zs::profile {
namespace {

RecordingDescription description() {
  RecordingDescription description;
  description.events = {{.name = "inst_retired.any:ppp", .config = 0x1C0, .period = 1000, .precise_ip = 3}};
  return description;
}

session::Sample sample_at(std::uint64_t number) {
  session::Sample sample;
  sample.pid = sample.tid = 100;
  sample.time_ns = number;
  sample.ip = 0x401000 + number % 4096;
  sample.period = 1000;
  sample.has_registers = true;
  sample.registers.ax = number;
  return sample;
}

// The collector pays this for every sample, while the program waits for a core.
void BM_PerfDataWriter_Sample(benchmark::State& state) {
  auto writer = PerfDataWriter::create("/dev/null", description());
  std::uint64_t number = 0;
  for (auto _ : state) {
    const auto wrote = writer->sample(sample_at(++number));
    benchmark::DoNotOptimize(wrote);
  }
}
BENCHMARK(BM_PerfDataWriter_Sample);

// Every verb that reads a recording pays this twice for each sample: once to check the file, once to use it.
void BM_PerfDataReader_Sample(benchmark::State& state) {
  const std::string path = std::filesystem::temp_directory_path() / ("zeroskid-bench-" + std::to_string(getpid()));
  constexpr std::uint64_t kSamples = 10'000;
  auto writer = PerfDataWriter::create(path, description());
  for (std::uint64_t number = 0; number < kSamples; ++number) (void)writer->sample(sample_at(number));
  (void)writer->close({});
  for (auto _ : state) {
    const auto reader = PerfDataReader::open(path);
    std::uint64_t sum = 0;
    reader->for_each(PerfDataReader::Order::Time,
                     [&sum](const Record& record) { sum += std::get<SampleRecord>(record).sample.ip; });
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kSamples));
  std::filesystem::remove(path);
}
BENCHMARK(BM_PerfDataReader_Sample);

}  // namespace
}  // namespace zs::profile

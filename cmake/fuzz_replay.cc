// Runs a fuzz target without libFuzzer: every file of the named folders as it is, then each of them damaged in a few
// thousand ways that a fixed seed decides. It finds less than a fuzzer, but it runs with every compiler, in every
// `make test`, and twice alike. `make fuzz` is the real thing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr int kDamagedInputs = 3000;  // in all, shared among the seeds; about a second for a parser
constexpr std::size_t kLargestInput = 1 << 16;

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One to four of the things that happen to files: bits flip, bytes become extreme, pieces go missing or repeat.
void damage(Input& input, std::mt19937& random) {
  for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min<std::size_t>(1 + random() % 8, input.size() - at);
    const auto end = here + static_cast<std::ptrdiff_t>(length);
    switch (random() % 5) {
      case 0:
        if (!input.empty()) *here = static_cast<std::uint8_t>(*here ^ (1u << random() % 8));
        break;
      case 1: std::fill(here, end, std::uint8_t{0xFF}); break;
      case 2: input.erase(here, end); break;
      case 3: input.resize(at); break;
      default: {
        const Input piece(here, end);
        input.insert(here, piece.begin(), piece.end());
      }
    }
  }
  if (input.size() > kLargestInput) input.resize(kLargestInput);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Input> seeds{Input{}};
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) seeds.push_back(read_file(file));

  for (const Input& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  std::mt19937 random(1);
  for (int i = 0; i < kDamagedInputs; ++i) {
    Input input = seeds[static_cast<std::size_t>(i) % seeds.size()];
    damage(input, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu seeds, %d damaged inputs: no complaint\n", files.size(), kDamagedInputs);
}

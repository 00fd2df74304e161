// Hash tables: std::unordered_map of strings and an open-addressing table of integers, inserts, hits and misses.
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
class Table {
 public:
  explicit Table(std::size_t size) : slots_(size, 0) {}
  bool insert(std::uint64_t key) {
    for (std::size_t at = (key * 0x9E3779B97F4A7C15u >> 40) % slots_.size();; at = (at + 1) % slots_.size()) {
      if (slots_[at] == key) return false;
      if (slots_[at] == 0) return slots_[at] = key, true;
    }
  }

 private:
  std::vector<std::uint64_t> slots_;
};
}  // namespace

int main() {
  std::unordered_map<std::string, int> words;
  std::uint64_t random = 3;
  for (int i = 0; i < 2500000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    ++words["key-" + std::to_string((random >> 40) % 50000)];
  }
  Table table(1 << 19);
  std::size_t fresh = 0;
  for (int i = 0; i < 14000000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    fresh += table.insert((random >> 40) % 300000 + 1);
  }
  std::printf("%zu %d %zu\n", words.size(), words["key-7"], fresh);
}

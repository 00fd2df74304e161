// Long names: what a terminal has no room for.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main() {
  std::map<std::string, std::vector<std::function<int(int)>>> table;
  std::unordered_map<std::string, std::map<int, std::vector<std::string>>> deep;
  for (int i = 0; i < 3000; ++i) {
    auto& v = table["key" + std::to_string(i % 97)];
    v.push_back([i](int x) { return x * i + 1; });
    deep["d" + std::to_string(i % 31)][i % 7].push_back(std::to_string(i * 7919));
  }
  std::regex word("([a-z]+)([0-9]+)");
  long sum = 0;
  for (auto& [key, list] : table) {
    std::smatch m;
    if (std::regex_match(key, m, word))
      for (auto& f : list) sum += f(std::stoi(m[2]));
  }
  for (auto& [k, inner] : deep)
    for (auto& [n, strings] : inner) {
      std::sort(strings.begin(), strings.end());
      sum += strings.front().size();
    }
  std::printf("%ld\n", sum);
}

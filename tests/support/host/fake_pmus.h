// For tests: a folder in which PMUs describe themselves, as sysfs has it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace zs::host {

class FakePmus {
 public:
  explicit FakePmus(const std::string& name)
      : folder_(std::filesystem::path(testing::TempDir()) / ("pmus_" + name + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~FakePmus() { std::filesystem::remove_all(folder_); }
  FakePmus(const FakePmus&) = delete;
  FakePmus& operator=(const FakePmus&) = delete;

  /// With the fields that Intel's have.
  void add(const std::string& pmu, const std::string& type,
           const std::vector<std::pair<std::string, std::string>>& events) {
    for (const char* const part : {"events", "format"}) std::filesystem::create_directories(folder_ / pmu / part);
    write(pmu + "/type", type);
    write(pmu + "/format/event", "config:0-7,32-35");
    write(pmu + "/format/umask", "config:8-15");
    write(pmu + "/format/ldlat", "config1:0-15");
    for (const auto& [name, terms] : events) write(pmu + "/events/" + name, terms);
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text << "\n"; }

  std::filesystem::path folder_;
};

}  // namespace zs::host

// The replacement policies once more, plainly: lists, vectors and loops instead of words and bit tricks. For tests
// only; the fast ones must choose the same way at every access.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/check.h"
#include "uarch/replacement/policy_spec.h"

namespace zs::uarch {

/// The order of one set.
class PlainPolicy {
 public:
  virtual ~PlainPolicy() = default;
  /// The way to evict; every way holds a line.
  virtual std::size_t victim() = 0;
  virtual void hit(std::size_t way) = 0;
  virtual void inserted(std::size_t way) { hit(way); }
  /// Which of the ways without a line a new line takes.
  virtual std::size_t choose_empty(const std::vector<std::size_t>& empty) { return empty.front(); }
};

class PlainLru final : public PlainPolicy {
 public:
  explicit PlainLru(std::size_t ways) {
    for (std::size_t way = 0; way < ways; ++way) oldest_last_.push_back(way);
  }
  std::size_t victim() override { return oldest_last_.back(); }
  void hit(std::size_t way) override {
    std::erase(oldest_last_, way);
    oldest_last_.insert(oldest_last_.begin(), way);
  }

 private:
  std::vector<std::size_t> oldest_last_;
};

/// A half, and the two halves below it.
class PlainTree final : public PlainPolicy {
 public:
  explicit PlainTree(std::size_t ways) : ways_(ways) {
    if (ways == 1) return;
    lower_ = std::make_unique<PlainTree>(ways / 2);
    upper_ = std::make_unique<PlainTree>(ways / 2);
  }
  std::size_t victim() override {
    if (ways_ == 1) return 0;
    return evict_upper_ ? ways_ / 2 + upper_->victim() : lower_->victim();
  }
  std::size_t choose_empty(const std::vector<std::size_t>& /*empty*/) override { return victim(); }
  void hit(std::size_t way) override {
    if (ways_ == 1) return;
    evict_upper_ = way < ways_ / 2;
    if (evict_upper_) {
      lower_->hit(way);
    } else {
      upper_->hit(way - ways_ / 2);
    }
  }

 private:
  std::size_t ways_;
  bool evict_upper_ = false;
  std::unique_ptr<PlainTree> lower_, upper_;
};

class PlainThreeTrees final : public PlainPolicy {
 public:
  std::size_t victim() override {
    const std::size_t tree = order_.victim();
    return 4 * tree + trees_[tree].victim();
  }
  void hit(std::size_t way) override {
    order_.hit(way / 4);
    trees_[way / 4].hit(way % 4);
  }

 private:
  PlainLru order_{3};
  PlainTree trees_[3] = {PlainTree(4), PlainTree(4), PlainTree(4)};
};

class PlainBits final : public PlainPolicy {
 public:
  explicit PlainBits(std::size_t ways) : unused_(ways, true) {}
  std::size_t victim() override { return static_cast<std::size_t>(std::ranges::find(unused_, true) - unused_.begin()); }
  void hit(std::size_t way) override {
    unused_[way] = false;
    if (std::ranges::find(unused_, true) != unused_.end()) return;
    unused_.assign(unused_.size(), true);
    unused_[way] = false;
  }

 private:
  std::vector<bool> unused_;
};

class PlainSrrip final : public PlainPolicy {
 public:
  explicit PlainSrrip(std::size_t ways) : ages_(ways, 3) {}
  std::size_t victim() override {
    while (std::ranges::find(ages_, 3) == ages_.end()) {
      for (int& age : ages_) ++age;
    }
    return static_cast<std::size_t>(std::ranges::find(ages_, 3) - ages_.begin());
  }
  void hit(std::size_t way) override { ages_[way] = 0; }
  void inserted(std::size_t way) override {
    victim();
    ages_[way] = 2;
  }

 private:
  std::vector<int> ages_;
};

class PlainQlru final : public PlainPolicy {
 public:
  PlainQlru(std::size_t ways, QlruRule rule) : ages_(ways, 3), rule_(rule) {}
  std::size_t victim() override {
    const auto at = std::ranges::find(ages_, 3);
    return at == ages_.end() ? 0 : static_cast<std::size_t>(at - ages_.begin());
  }
  void hit(std::size_t way) override {
    if (ages_[way] == 3) {
      ages_[way] = rule_.hit_age_3;
    } else {
      ages_[way] = ages_[way] == 2 ? rule_.hit_age_2 : 0;
    }
    age_the_others(way);
  }
  void inserted(std::size_t way) override {
    ages_[way] = rule_.insert_age;
    age_the_others(way);
  }
  std::size_t choose_empty(const std::vector<std::size_t>& empty) override {
    return rule_.replacement == 2 ? empty.back() : empty.front();
  }

 private:
  void age_the_others(std::size_t accessed) {
    const bool spares_accessed = rule_.update == 1 || rule_.update == 3;
    int greatest = -1;
    for (std::size_t way = 0; way < ages_.size(); ++way) {
      if (!(spares_accessed && way == accessed)) greatest = std::max(greatest, ages_[way]);
    }
    const bool to_three = rule_.update == 0 || rule_.update == 1;
    const int growth = to_three ? 3 - greatest : (greatest < 3 ? 1 : 0);
    for (std::size_t way = 0; way < ages_.size(); ++way) {
      if (!(spares_accessed && way == accessed)) ages_[way] += growth;
    }
  }

  std::vector<int> ages_;
  QlruRule rule_;
};

inline std::unique_ptr<PlainPolicy> plain_policy(const PolicySpec& spec, std::size_t ways) {
  switch (spec.kind) {
    case PolicyKind::Lru: return std::make_unique<PlainLru>(ways);
    case PolicyKind::TreePlru: return std::make_unique<PlainTree>(ways);
    case PolicyKind::ThreePlru4: return std::make_unique<PlainThreeTrees>();
    case PolicyKind::BitPlru: return std::make_unique<PlainBits>(ways);
    case PolicyKind::Srrip: return std::make_unique<PlainSrrip>(ways);
    case PolicyKind::Qlru: break;
  }
  return std::make_unique<PlainQlru>(ways, spec.rule);
}

}  // namespace zs::uarch

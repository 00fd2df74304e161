#include "profile/types/field_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace zs::profile {
namespace {

using Field = DataTypes::Field;

/// chosen: what saves less is not worth a change.
constexpr double kWorthIt = 0.95;
/// chosen: rounds of exchanging two members; the order is good before that.
constexpr int kMostExchanges = 50;

/// Members that move as one: bit-fields of one byte, and what must stay in front, a base or the table of virtual
/// functions.
struct Part {
  std::vector<std::size_t> members;
  std::uint64_t start = 0, size = 0, alignment = 1;
  bool pinned = false;
};

/// A function's visits: how many, and how likely each of them is to use each part.
struct Visitor {
  double visits = 0;
  std::vector<double> likely;  // by part
};

std::vector<Part> parts_of(const std::vector<Field>& members) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Field& one = members[i];
    const bool joins = !parts.empty() && one.offset < parts.back().start + parts.back().size;
    if (!joins) parts.push_back({.members = {}, .start = one.offset});
    Part& part = parts.back();
    part.members.push_back(i);
    part.size = std::max(part.start + part.size, one.offset + one.size) - part.start;
    part.alignment = std::max(part.alignment, one.alignment);
    part.pinned = part.pinned || one.name.empty() || one.name.starts_with("._vptr");
  }
  return parts;
}

std::vector<Visitor> visitors_of(const std::vector<Part>& parts, const Visits& visits) {
  std::vector<Visitor> visitors;
  if (parts.empty()) return visitors;
  for (const auto& [function, offsets] : visits.functions) {
    std::vector<double> loads(parts.size()), stores(parts.size()), accesses(parts.size());
    for (const auto& [offset, uses] : offsets) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (offset < parts[i].start || offset - parts[i].start >= parts[i].size) continue;
        loads[i] += static_cast<double>(uses.loads) * visits.load_scale;
        stores[i] += static_cast<double>(uses.stores);
      }
    }
    // What a visit changes it often loads first: that is one use.
    std::ranges::transform(loads, stores, accesses.begin(), [](double a, double b) { return std::max(a, b); });
    const double most = *std::ranges::max_element(accesses);
    if (most == 0) continue;
    for (double& one : accesses) one /= most;
    visitors.push_back({.visits = most, .likely = std::move(accesses)});
  }
  return visitors;
}

/// Where each part lies in that order, and how large the whole is.
std::uint64_t place(const std::vector<Part>& parts, const std::vector<std::size_t>& order,
                    std::vector<std::uint64_t>& starts) {
  std::uint64_t at = 0, alignment = 1;
  starts.resize(parts.size());
  for (const std::size_t i : order) {
    at = (at + parts[i].alignment - 1) / parts[i].alignment * parts[i].alignment;
    starts[i] = at;
    at += parts[i].size;
    alignment = std::max(alignment, parts[i].alignment);
  }
  return (at + alignment - 1) / alignment * alignment;
}

/// Lines of a visit, times visits, where the value begins that far into a line.
double lines_of(const Visitor& visitor, const std::vector<Part>& parts, const std::vector<std::uint64_t>& starts,
                std::uint64_t phase) {
  std::map<std::uint64_t, double> untouched;  // how likely each line is to be left alone that parts may share
  double lines = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (visitor.likely[i] == 0) continue;
    const std::uint64_t first = (phase + starts[i]) / kCacheLine;
    const std::uint64_t last = (phase + starts[i] + parts[i].size - 1) / kCacheLine;
    // Of a member across several lines, a visit uses one.
    const double share = visitor.likely[i] / static_cast<double>(last - first + 1);
    untouched.try_emplace(first, 1.0).first->second *= 1.0 - share;
    if (last == first) continue;
    untouched.try_emplace(last, 1.0).first->second *= 1.0 - share;
    lines += share * static_cast<double>(last - first - 1);  // those between are of no other part
  }
  for (const auto& [line, left] : untouched) lines += 1.0 - left;
  return lines * visitor.visits;
}

class Search {
 public:
  Search(std::vector<Part> parts, const Visits& visits)
      : parts_(std::move(parts)), visitors_(visitors_of(parts_, visits)) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : visits.phases) all += count;
    for (std::uint64_t phase = 0; phase < kCacheLine; ++phase) {
      if (visits.phases[phase] != 0)
        phases_.emplace_back(phase, static_cast<double>(visits.phases[phase]) / static_cast<double>(all));
    }
    for (const Visitor& one : visitors_) all_visits_ += one.visits;
  }

  bool has_visits() const { return all_visits_ != 0; }
  const std::vector<Part>& parts() const { return parts_; }

  /// Lines that a visit touches with the parts at these places.
  double lines(const std::vector<std::uint64_t>& starts) const {
    double sum = 0;
    for (const auto& [phase, share] : phases_) {
      for (const Visitor& visitor : visitors_) sum += share * lines_of(visitor, parts_, starts, phase);
    }
    return all_visits_ == 0 ? 0 : sum / all_visits_;
  }

  /// Hot ones first, then exchanged in pairs as long as that touches fewer lines and the value grows no larger.
  std::vector<std::size_t> best(std::uint64_t size) const {
    std::vector<std::size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> as_is = order;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (parts_[a].pinned != parts_[b].pinned) return parts_[a].pinned;
      return !parts_[a].pinned && heat(a) > heat(b);
    });
    std::vector<std::uint64_t> starts;
    if (place(parts_, order, starts) > size) order = as_is;
    place(parts_, order, starts);
    double least = lines(starts);
    for (int round = 0; round < kMostExchanges && exchange(order, size, least); ++round) {}
    return order;
  }

 private:
  double heat(std::size_t part) const {
    double sum = 0;
    for (const Visitor& one : visitors_) sum += one.visits * one.likely[part];
    return sum;
  }

  /// One round; returns whether it gained anything.
  bool exchange(std::vector<std::size_t>& order, std::uint64_t size, double& least) const {
    bool gained = false;
    std::vector<std::uint64_t> starts;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        if (parts_[order[i]].pinned || parts_[order[j]].pinned) continue;
        std::swap(order[i], order[j]);
        const std::uint64_t made = place(parts_, order, starts);
        const double now = made <= size ? lines(starts) : least;
        if (now < least * (1 - 1e-9)) {
          least = now;
          gained = true;
        } else {
          std::swap(order[i], order[j]);
        }
      }
    }
    return gained;
  }

  std::vector<Part> parts_;
  std::vector<Visitor> visitors_;
  std::vector<std::pair<std::uint64_t, double>> phases_;  // and their shares
  double all_visits_ = 0;
};

}  // namespace

FieldOrder best_order(std::vector<Field> members, std::uint64_t size, const Visits& visits) {
  FieldOrder order{.before = std::move(members), .after = {}, .size_before = size, .size_after = size};
  // chosen: the search takes the third power of that
  constexpr std::size_t kMostParts = 64;
  const Search search(parts_of(order.before), visits);
  const std::vector<Part>& parts = search.parts();
  if (!search.has_visits() || parts.empty() || parts.size() > kMostParts) return order;
  std::vector<std::uint64_t> starts;
  starts.reserve(parts.size());
  for (const Part& part : parts) starts.push_back(part.start);
  order.lines_before = order.lines_after = search.lines(starts);
  const std::vector<std::size_t> best = search.best(size);
  const std::uint64_t made = place(parts, best, starts);
  const double lines = search.lines(starts);
  if (made > size || lines > order.lines_before * kWorthIt) return order;
  order.better = true;
  order.lines_after = lines;
  order.size_after = made;
  for (const std::size_t i : best) {
    for (const std::size_t member : parts[i].members) {
      order.after.push_back(order.before[member]);
      order.after.back().offset = starts[i] + (order.before[member].offset - parts[i].start);
    }
  }
  return order;
}

}  // namespace zs::profile

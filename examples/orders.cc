// A small order book, as a program to profile: orders arrive, each is matched against the best price of the other side,
// and what is left waits in the book. It does its job, and it has the fault that a profiler should find: the levels of
// a side lie unsorted, so the best price is looked for from one end to the other, for every order.
//   g++ -O2 -g -o orders examples/orders.cc && zeroskid record -e instructions:ppp -- ./orders
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

struct Level {
  std::int32_t price;
  std::int32_t quantity;
};

struct Order {
  bool buy;
  std::int32_t price;
  std::int32_t quantity;
};

/// The same orders in every run: a price that wanders, and buyers and sellers around it.
class Market {
 public:
  Order next() {
    price_ += static_cast<std::int32_t>(random() % 7) - 3;
    const bool buy = random() % 2 == 0;
    const auto away = static_cast<std::int32_t>(random() % 400);
    return {buy, buy ? price_ - away + 5 : price_ + away - 5, 1 + static_cast<std::int32_t>(random() % 50)};
  }

 private:
  std::uint32_t random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  std::uint64_t state_ = 20;
  std::int32_t price_ = 100000;
};

class Side {
 public:
  explicit Side(bool buyers) : buyers_(buyers) {}

  [[gnu::noinline]] Level* best() {
    Level* found = nullptr;
    for (Level& level : levels_)
      if (found == nullptr || (buyers_ ? level.price > found->price : level.price < found->price)) found = &level;
    return found;
  }

  void add(std::int32_t price, std::int32_t quantity) {
    for (Level& level : levels_) {
      if (level.price == price) {
        level.quantity += quantity;
        return;
      }
    }
    levels_.push_back({price, quantity});
  }

  void remove(Level* level) {
    *level = levels_.back();
    levels_.pop_back();
  }

  std::size_t size() const { return levels_.size(); }

 private:
  bool buyers_;
  std::vector<Level> levels_;
};

/// Trades what the other side accepts; the rest of the order waits. returns the quantity traded
std::int64_t match(Order order, Side& own, Side& other) {
  std::int64_t traded = 0;
  while (order.quantity > 0) {
    Level* level = other.best();
    if (level == nullptr || (order.buy ? level->price > order.price : level->price < order.price)) break;
    const std::int32_t quantity = order.quantity < level->quantity ? order.quantity : level->quantity;
    traded += quantity;
    order.quantity -= quantity;
    level->quantity -= quantity;
    if (level->quantity == 0) other.remove(level);
  }
  if (order.quantity > 0) own.add(order.price, order.quantity);
  return traded;
}

}  // namespace

int main() {
  Market market;
  Side buyers(true);
  Side sellers(false);
  std::int64_t traded = 0;
  for (int i = 0; i < 30000; ++i) {
    const Order order = market.next();
    traded += order.buy ? match(order, buyers, sellers) : match(order, sellers, buyers);
  }
  std::printf("traded %lld; %zu buying and %zu selling prices wait\n", static_cast<long long>(traded), buyers.size(),
              sellers.size());
}

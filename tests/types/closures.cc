// References, what lambdas hold, arrays of the library, and names within namespaces.
#include <array>
#include <functional>

#include "truth.h"

namespace market::book {
struct Level {
  double price;
  int count;
  std::array<int, 6> recent;
};
struct Side {
  Level* levels;
  unsigned used;
  const char* name;
};
}  // namespace market::book
using market::book::Level;
using market::book::Side;

template <typename Visit>
static void each(Side& side, Visit visit) {
  for (unsigned i = 0; i < side.used; ++i) visit(side.levels[i], i);
}

NEVER_INLINE static double sweep(Side& side, double limit) {
  double best = 0;
  int seen = 0;
  each(side, [&](Level& level, unsigned i) {
    if (level.price < limit) best += level.price;
    level.recent[i % 6]++;
    seen += level.count;
  });
  return best + seen;
}
NEVER_INLINE static int newest(const Side* const* sides, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += sides[i]->levels[i].recent.back() + static_cast<int>(sides[i]->used);
  return sum;
}

int main() {
  constexpr unsigned used = 120;
  Side** sides = new Side*[8];
  for (int i = 0; i < 8; ++i) {
    sides[i] = new Side{new Level[used](), used, "side"};
    for (unsigned j = 0; j < used; ++j) sides[i]->levels[j].price = j;
  }
  double sum = 0;
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 8; ++j) sum += sweep(*sides[j], i);
    for (int j = 0; j < 10; ++j) sum += newest(sides, 8);
  }
  FIELD(Level, price);
  FIELD(Level, count);
  FIELD(Level, recent);
  FIELD(Side, levels);
  FIELD(Side, used);
  FIELD(Side, name);
  for (int i = 0; i < 8; ++i) {
    object("Side", sides[i], sizeof(Side), 1, "*");
    object("Level", sides[i]->levels, sizeof(Level), used, "*");
  }
  object("Side*", sides, sizeof *sides, 8, "*");
  return sum < 0;
}

// Templates of the library and of one's own.
#include <algorithm>
#include <memory>
#include <vector>

#include "truth.h"

struct Order {
  int id;
  short side;
  float price;
  long amount;
};
template <typename T>
struct Cell {
  Cell* next;
  T value;
  int version;
};
template <typename T>
class Queue {
 public:
  void push(const T& value) {
    auto* cell = new Cell<T>{nullptr, value, 0};
    *end_ = cell;
    end_ = &cell->next;
  }
  NEVER_INLINE long bump() {
    long sum = 0;
    for (auto* at = first_; at; at = at->next) sum += ++at->version + at->value.id;
    return sum;
  }
  Cell<T>* first() { return first_; }

 private:
  Cell<T>*first_ = nullptr, **end_ = &first_;
};

NEVER_INLINE static double total(const std::vector<Order>& orders) {
  double sum = 0;
  for (const Order& order : orders) sum += order.side ? order.price * static_cast<double>(order.amount) : 0;
  return sum;
}
NEVER_INLINE static void fill(std::vector<Order>& orders) {
  for (std::size_t i = 0; i < orders.size(); ++i) orders[i].amount += orders[i].id;
}

int main() {
  std::vector<Order> orders(400);
  for (int i = 0; i < 400; ++i)
    orders[static_cast<std::size_t>(i)] = {i * 37 % 400, static_cast<short>(i & 1), 1.5F, i};
  auto queue = std::make_unique<Queue<Order>>();
  for (int i = 0; i < 200; ++i) queue->push(orders[static_cast<std::size_t>(i)]);
  double sum = 0;
  for (int i = 0; i < 80; ++i) {
    fill(orders);
    sum += total(orders) + static_cast<double>(queue->bump());
  }
  std::sort(orders.begin(), orders.end(), [](const Order& a, const Order& b) { return a.id < b.id; });
  using OrderCell = Cell<Order>;
  FIELD(Order, id);
  FIELD(Order, side);
  FIELD(Order, price);
  FIELD(Order, amount);
  printf("field\tCell<Order>\t%zu\t8\tnext\nfield\tCell<Order>\t%zu\t4\tversion\n", offsetof(OrderCell, next),
         offsetof(OrderCell, version));
  printf(
      "field\tCell<Order>\t%zu\t4\tvalue.id\nfield\tCell<Order>\t%zu\t2\tvalue.side\nfield\tCell<Order>\t%zu\t4\tvalue."
      "price\n"
      "field\tCell<Order>\t%zu\t8\tvalue.amount\n",
      offsetof(OrderCell, value.id), offsetof(OrderCell, value.side), offsetof(OrderCell, value.price),
      offsetof(OrderCell, value.amount));
  object("Order", orders.data(), sizeof(Order), orders.size(), "*");
  for (auto* at = queue->first(); at; at = at->next) object("Cell<Order>", at, sizeof *at, 1, "*");
  return sum < 0;
}

// Objects of classes that stand on each other, through pointers to what they stand on.
#include "truth.h"

struct Named {
  const char* name;
  int uses;
};
class Shape {
 public:
  virtual ~Shape() {}
  virtual double area() const = 0;
  double scale = 1;
  long seen = 0;
};
class Circle : public Shape, public Named {
 public:
  explicit Circle(double r) : radius(r) {
    name = "circle";
    uses = 0;
  }
  NEVER_INLINE double area() const override { return 3.14 * radius * radius * scale; }
  double radius;
};
class Box final : public Shape {
 public:
  Box(double a, double b) : width(a), height(b) {}
  NEVER_INLINE double area() const override { return width * height * scale; }
  double width, height;
};

NEVER_INLINE static double all_areas(Shape** shapes, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    shapes[i]->seen++;
    sum += shapes[i]->area();
  }
  return sum;
}
NEVER_INLINE static int all_uses(Circle** circles, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += ++circles[i]->uses;
  return sum;
}

int main() {
  constexpr int count = 100;
  Shape** shapes = new Shape*[count];
  Circle** circles = new Circle*[count / 2];
  for (int i = 0; i < count; ++i) {
    if (i % 2) {
      shapes[i] = new Box(i, 2);
    } else {
      shapes[i] = circles[i / 2] = new Circle(i);
    }
  }
  double sum = 0;
  for (int i = 0; i < 200; ++i) sum += all_areas(shapes, count) + all_uses(circles, count / 2);
  printf(
      "field\tCircle\t8\t8\tscale\nfield\tCircle\t16\t8\tseen\nfield\tCircle\t24\t8\tname\nfield\tCircle\t32\t4\tuses\n"
      "field\tCircle\t40\t8\tradius\nfield\tBox\t8\t8\tscale\nfield\tBox\t16\t8\tseen\nfield\tBox\t24\t8\twidth\n"
      "field\tBox\t32\t8\theight\nfield\tBox\t0\t8\t_vptr\nfield\tCircle\t0\t8\t_vptr\n");
  for (int i = 0; i < count; ++i)
    object(i % 2 ? "Box" : "Circle", shapes[i], i % 2 ? sizeof(Box) : sizeof(Circle), 1, "*");
  object("Shape*", shapes, sizeof *shapes, count, "*");
  object("Circle*", circles, sizeof *circles, count / 2, "*");
  return sum < 0;
}

// Floating point with divisions and roots: planets under gravity, short loops over a small array.
#include <math.h>
#include <stdio.h>

struct Body {
  double x[3], v[3], mass;
};
static struct Body bodies[5] = {
    {{0, 0, 0}, {0, 0, 0}, 39.47},         {{4.84, -1.16, -0.10}, {0.60, 2.81, -0.02}, 0.037},
    {{8.34, 4.12, -0.40}, {-1.01, 1.82, 0.008}, 0.011}, {{12.89, -15.11, -0.22}, {1.08, 0.86, -0.01}, 0.0017},
    {{15.37, -25.91, 0.17}, {0.97, 0.59, -0.03}, 0.0020},
};

int main(void) {
  const double dt = 0.01;
  for (int step = 0; step < 6000000; ++step) {
    for (int i = 0; i < 5; ++i) {
      for (int k = i + 1; k < 5; ++k) {
        double d[3], r2 = 0;
        for (int c = 0; c < 3; ++c) d[c] = bodies[i].x[c] - bodies[k].x[c], r2 += d[c] * d[c];
        const double m = dt / (r2 * sqrt(r2));
        for (int c = 0; c < 3; ++c) {
          bodies[i].v[c] -= d[c] * bodies[k].mass * m;
          bodies[k].v[c] += d[c] * bodies[i].mass * m;
        }
      }
    }
    for (int i = 0; i < 5; ++i) {
      for (int c = 0; c < 3; ++c) bodies[i].x[c] += dt * bodies[i].v[c];
    }
  }
  printf("%.9f %.9f\n", bodies[0].x[0], bodies[4].x[1]);
  return 0;
}

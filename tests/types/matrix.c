/* Arrays of arrays, in a struct and as rows of pointers. */
#include "truth.h"

struct grid { int rows, columns; double cells[24][24]; double sums[24]; };

NEVER_INLINE static void relax(struct grid *grid)
{
  for (int i = 1; i + 1 < grid->rows; ++i)
    for (int j = 1; j + 1 < grid->columns; ++j)
      grid->cells[i][j] = 0.25 * (grid->cells[i - 1][j] + grid->cells[i + 1][j] + grid->cells[i][j - 1] + grid->cells[i][j + 1]);
  for (int i = 0; i < grid->rows; ++i) grid->sums[i] += grid->cells[i][i];
}

NEVER_INLINE static void multiply(double **a, double **b, double **c, int n)
{
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

static double **square(int n)
{
  double **rows = malloc((size_t)n * sizeof *rows);
  for (int i = 0; i < n; ++i) {
    rows[i] = malloc((size_t)n * sizeof **rows);
    for (int j = 0; j < n; ++j) rows[i][j] = i + j;
    object("double", rows[i], sizeof(double), (size_t)n, "*");
  }
  object("double*", rows, sizeof *rows, (size_t)n, "*");
  return rows;
}

int main(void)
{
  struct grid *grid = calloc(1, sizeof *grid);
  grid->rows = grid->columns = 24;
  for (int i = 0; i < 24; ++i) grid->cells[0][i] = 1;
  for (int i = 0; i < 30; ++i) relax(grid);
  int n = 24;
  double **a = square(n), **b = square(n), **c = square(n);
  multiply(a, b, c, n);
  FIELD(struct grid, rows);
  FIELD(struct grid, columns);
  FIELD(struct grid, cells);
  FIELD(struct grid, sums);
  object("struct grid", grid, sizeof *grid, 1, "*");
  return c[1][1] < 0;
}

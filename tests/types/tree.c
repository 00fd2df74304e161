/* A tree whose nodes have members without a name, walked by functions that call themselves. */
#include "truth.h"

typedef struct tree_node {
  struct tree_node *left, *right;
  union {
    long number;
    double real;
  };
  struct {
    int depth;
    int count;
  };
} tree_node;

static tree_node *insert(tree_node *at, long number, int depth)
{
  if (!at) {
    at = calloc(1, sizeof *at);
    at->number = number;
    at->depth = depth;
    at->count = 1;
    return at;
  }
  if (number < at->number) {
    at->left = insert(at->left, number, depth + 1);
  } else if (number > at->number) {
    at->right = insert(at->right, number, depth + 1);
  } else {
    at->count++;
  }
  return at;
}

NEVER_INLINE static long sum(const tree_node *at)
{
  return at ? sum(at->left) + at->number * at->count + at->depth + sum(at->right) : 0;
}

static void tell(const tree_node *at)
{
  if (!at) return;
  object("struct tree_node", at, sizeof *at, 1, "*");
  tell(at->left);
  tell(at->right);
}

int main(void)
{
  tree_node *root = NULL;
  unsigned long random = 1;
  for (int i = 0; i < 4000; ++i) {
    random = random * 6364136223846793005ul + 1442695040888963407ul;
    root = insert(root, (long)(random >> 54), 0);
  }
  long total = 0;
  for (int i = 0; i < 30; ++i) total += sum(root);
  printf("field\tstruct tree_node\t0\t8\tleft\nfield\tstruct tree_node\t8\t8\tright\n");
  printf("field\tstruct tree_node\t16\t8\t*\nfield\tstruct tree_node\t24\t4\tdepth\nfield\tstruct tree_node\t28\t4\tcount\n");
  tell(root);
  return total < 0;
}

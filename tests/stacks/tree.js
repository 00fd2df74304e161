// The same of JavaScript, which node compiles while it runs.
function node_1_1_1(x) { return (x * 3 ^ x >> 7) & 0xffff; }
function node_1_1(x) { return node_1_1_1(x) + 1; }
function node_1(x) {
  for (let i = 0; i < 5; ++i) x = (x + node_1_1(x + i)) & 0xffff;
  return x;
}
function node_2_1(x) { return { value: x, text: 'n' + x }; }
function node_2(x) {
  const made = node_2_1(x);
  return made.value + made.text.length;
}
function node_3_1(a, b) { return a - b; }
function node_3(x) {
  const numbers = [];
  for (let i = 0; i < 12; ++i) numbers.push((x * 7919 * i) & 1023);
  numbers.sort(node_3_1);
  return numbers[3];
}
function root() {
  let x = 1;
  for (let i = 0; i < 20000; ++i) {
    x = (x + node_1(i)) & 0xffff;
    x = (x + node_2(i)) & 0xffff;
    if (i % 16 === 0) x = (x + node_3(x)) & 0xffff;
  }
  return x;
}
console.log(root() === -1);

const m = new Map(); for (let i = 0; i < 200000; i++) { const k = 'k' + (i * 7919 % 1013); m.set(k, (m.get(k) || 0) + i % 7); }
console.log([...m.values()].reduce((a, b) => a + b));
